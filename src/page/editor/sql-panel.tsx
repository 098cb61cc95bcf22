import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Endpoint, Subset, Values } from '../api/catalogue.ts';
import type { Client, Dialect } from '../api/client.ts';
import { requestValues } from '../form/request-values.ts';
import { MissingScript } from '../missing-script.tsx';
import { examplesOf } from './examples.ts';
import type { SqlEditor as Editor } from './sql-editor.tsx';

type SqlPanelProps = {
  readonly client: Client;
  readonly endpoint: Endpoint;
  readonly subsets: readonly Subset[];
  readonly values: Values;
  /** @param isFinal whether to run at once */
  readonly onChange: (values: Values, isFinal: boolean) => void;
  readonly onRun: () => void;
};

type Loaded = {
  readonly SqlEditor: FunctionComponent<Parameters<typeof Editor>[0]>;
  readonly dialect: Dialect | undefined;
};

/** The panel for the caller's own SQL over the subsets of the saved query; the editor is loaded with the first panel. */
export function SqlPanel({ client, endpoint, subsets, values, onChange, onRun }: SqlPanelProps) {
  const sql = typeof values.sql === 'string' ? values.sql : '';
  const [subset, setSubset] = useState(subsets[0]?.name);
  const [loaded, setLoaded] = useState<Loaded>();
  const [isMissing, setMissing] = useState(false);
  const set = (text: string, isFinal: boolean) => {
    const { sql: _, ...others } = values;
    onChange(text === '' ? others : { ...others, sql: text }, isFinal);
  };

  useEffect(() => {
    if (loaded) return;
    const dialect = client.dialect().catch(() => undefined);
    void Promise.all([import('./sql-editor.tsx'), dialect]).then(
      ([{ SqlEditor }, found]) => setLoaded({ SqlEditor, dialect: found }),
      () => setMissing(true),
    );
  }, []);

  const check = async (text: string) => {
    const sent = requestValues(endpoint, { ...values, sql: text }, Date.now());
    return client.check(endpoint, sent, AbortSignal.timeout(10_000)).catch(() => undefined);
  };
  const chosen = subsets.find(({ name }) => name === subset);
  return (
    <div class="sql-panel">
      <div class="examples">
        <label class="label" for="example-subset">
          Examples for
        </label>
        <select id="example-subset" value={subset} onChange={event => setSubset(event.currentTarget.value)}>
          {subsets.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        {chosen &&
          examplesOf(chosen).map(example => (
            <button type="button" class="small" key={example.title} onClick={() => set(example.sql, true)}>
              {example.title}
            </button>
          ))}
        <button type="button" class="small" disabled={sql === ''} onClick={() => set('', true)}>
          Saved query
        </button>
      </div>
      {loaded ? (
        <loaded.SqlEditor
          value={sql}
          subsets={subsets}
          dialect={loaded.dialect}
          onChange={text => set(text, false)}
          onRun={onRun}
          check={check}
        />
      ) : (
        <div class="editor">{isMissing && <MissingScript of="editor" />}</div>
      )}
      <p class="hint wide-only">
        Ctrl-Enter runs it, Ctrl-Space completes. Tab indents; Escape and then Tab leaves the editor.
      </p>
    </div>
  );
}
