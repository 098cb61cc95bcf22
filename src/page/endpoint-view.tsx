import { useEffect, useRef, useState } from 'preact/hooks';
import { type Endpoint, timeBounds, type Values } from './api/catalogue.ts';
import type { Client } from './api/client.ts';
import { SqlPanel } from './editor/sql-panel.tsx';
import { ParameterForm } from './form/parameter-form.tsx';
import { missingValues, requestValues } from './form/request-values.ts';
import { ProblemBox } from './problem-box.tsx';
import { toIso } from './query/row-times.ts';
import { type Query, useQuery } from './query/use-query.ts';
import { ResultView } from './result/result-view.tsx';
import { TakeAlongPanel } from './take-along-panel.tsx';
import type { View, Zoom } from './view-url.ts';

type EndpointViewProps = {
  readonly client: Client;
  readonly endpoint: Endpoint;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly onToken: () => void;
};

/** One saved query: its form, the editor for SQL, and the rows. */
export function EndpointView({ client, endpoint, view, onView, onToken }: EndpointViewProps) {
  const query = useQuery(client, endpoint);
  const form = useRef<HTMLFormElement>(null);
  const { values } = view;
  const missing = missingValues(endpoint, values);
  const [isSqlOpen, setSqlOpen] = useState(values.sql !== undefined);
  const [isExporting, setExporting] = useState(false);
  // Other rows have other times.
  const change = (next: Values, isFinal: boolean) => {
    onView({ ...view, values: next, zoom: undefined });
    const isWhole = missingValues(endpoint, next).length === 0;
    if (!isWhole && query.isLive) query.setLive(false);
    if (isFinal && isWhole) query.run(next);
  };

  useEffect(() => {
    if (missing.length === 0) query.run(values);
  }, [client, endpoint.name]);

  const { answer, problem, isRunning } = query;
  const toRange = rangeOf(endpoint);
  return (
    <>
      <section class="ask" aria-label={endpoint.name}>
        <h2>{endpoint.name}</h2>
        <p class="description">{endpoint.description}</p>
        <form
          ref={form}
          onSubmit={event => {
            event.preventDefault();
            query.run(values);
          }}
        >
          <ParameterForm endpoint={endpoint} values={values} onChange={change} />
          <div class="actions">
            <RunButtons query={query} missing={missing} />
            <span class="spacer" />
            {endpoint.subsets && (
              <button type="button" aria-expanded={isSqlOpen} onClick={() => setSqlOpen(!isSqlOpen)}>
                <span class="wide-only">Your own </span>SQL
              </button>
            )}
            <button type="button" aria-expanded={isExporting} onClick={() => setExporting(!isExporting)}>
              Export
            </button>
          </div>
          {endpoint.subsets && isSqlOpen && (
            <SqlPanel
              client={client}
              endpoint={endpoint}
              subsets={endpoint.subsets}
              values={values}
              onChange={change}
              onRun={() => form.current?.requestSubmit()}
            />
          )}
        </form>
        {isExporting && (
          <TakeAlongPanel
            endpoint={endpoint}
            values={requestValues(endpoint, values, Date.now())}
            answer={answer}
          />
        )}
      </section>
      {problem && <ProblemBox problem={problem} onToken={onToken} onRetry={() => query.run(values)} />}
      {answer && (
        <ResultView
          columns={answer.columns}
          rows={answer.rows}
          facts={answer.facts}
          crowded={answer.crowded}
          view={view}
          onView={onView}
          onFresh={() => query.run(values, true)}
          isRunning={isRunning}
          onOlder={query.loadOlder}
          onRange={toRange && (zoom => change({ ...values, ...toRange(zoom) }, true))}
        />
      )}
    </>
  );
}

/** Runs, cancels, and keeps running. */
function RunButtons({ query, missing }: { readonly query: Query; readonly missing: readonly string[] }) {
  const { answer, isRunning, isLive } = query;
  return (
    <>
      {isRunning && !isLive ? (
        // With keys: the same element would become the button that submits before its click is over.
        <button key="cancel" type="button" class="primary" onClick={query.cancel}>
          Cancel
        </button>
      ) : (
        <button key="run" type="submit" class="primary" disabled={missing.length > 0}>
          Run
        </button>
      )}
      <button
        type="button"
        aria-pressed={isLive}
        disabled={!isLive && (!answer || missing.length > 0)}
        onClick={() => query.setLive(!isLive)}
        class={isLive ? 'live' : ''}
      >
        {isLive ? 'Pause live' : 'Live'}
      </button>
      {missing.length > 0 && <span class="hint">Still needed: {missing.join(', ')}</span>}
      <span class="running" role="status">
        {!isLive && isRunning && 'Running…'}
        {!isLive && !isRunning && answer && <span class="hidden">{countOf(answer.rows.length)}</span>}
      </span>
    </>
  );
}

/** The outcome, for screen readers; it is also shown above the rows. */
const countOf = (rows: number) => (rows === 0 ? 'No row was found' : `Rows found: ${rows}`);

/** The values that ask for a part of the time axis; undefined where no parameters bound the time. */
function rangeOf(endpoint: Endpoint): ((zoom: Zoom) => Values) | undefined {
  const { start, end } = timeBounds(endpoint);
  if (start === undefined || end === undefined) return undefined;
  const bounds = endpoint.parameters.filter(({ name }) => name === start || name === end);
  if (bounds.some(({ fixed, type }) => fixed || type === 'DATETIME')) return undefined;
  // The lower bound is exclusive, the upper one inclusive; a part of the axis is the other way round.
  const before = (seconds: number) => toIso(seconds * 1e6 - 1);
  return ({ from, to }) => ({ [start]: before(from), [end]: before(to) });
}
