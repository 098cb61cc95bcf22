import { useState } from 'preact/hooks';
import type { Endpoint, Values } from './api/catalogue.ts';
import { CopyButton } from './copy-button.tsx';
import type { QueryState } from './query/use-query.ts';
import { takeAlong } from './result/take-along.ts';
import { writeCsv } from './result/write-csv.ts';

type TakeAlongProps = {
  readonly endpoint: Endpoint;
  readonly values: Values;
  readonly answer: QueryState['answer'];
};

/** The same request for other programs, and the rows as a file. */
export function TakeAlongPanel({ endpoint, values, answer }: TakeAlongProps) {
  const texts = takeAlong(location.origin, endpoint, values);
  const [name, setName] = useState('curl');
  const text = texts.find(each => each.name === name)?.text ?? '';
  const download = () => {
    if (!answer) return;
    const url = URL.createObjectURL(new Blob([writeCsv(answer.columns, answer.rows)], { type: 'text/csv' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${endpoint.name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return (
    <div class="take-along">
      <div class="result-bar">
        <fieldset class="segments">
          <legend class="hidden">As</legend>
          {texts.map(own => (
            <label key={own.name}>
              <input
                type="radio"
                name="take-along"
                checked={own.name === name}
                onChange={() => setName(own.name)}
              />
              <span>{own.name}</span>
            </label>
          ))}
        </fieldset>
        <CopyButton text={() => text} label="Copy" />
        <button type="button" class="small" disabled={!answer || answer.rows.length === 0} onClick={download}>
          Download CSV
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  );
}
