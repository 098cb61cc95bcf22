import { useEffect } from 'preact/hooks';
import type { Endpoint, Values } from './api/catalogue.ts';
import type { Client } from './api/client.ts';
import { SqlPanel } from './editor/sql-panel.tsx';
import { ParameterForm } from './form/parameter-form.tsx';
import { missingValues, requestValues } from './form/request-values.ts';
import { ProblemBox } from './problem-box.tsx';
import { ResultView } from './result/result-view.tsx';
import { TakeAlongPanel } from './take-along-panel.tsx';
import { useQuery } from './use-query.ts';
import type { View } from './view-url.ts';

type EndpointViewProps = {
  readonly client: Client;
  readonly endpoint: Endpoint;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly onToken: () => void;
};

/** One saved query: its form, SQL of one's own, and the rows. */
export function EndpointView({ client, endpoint, view, onView, onToken }: EndpointViewProps) {
  const query = useQuery(client, endpoint);
  const { values } = view;
  const missing = missingValues(endpoint, values);
  const change = (next: Values, isFinal: boolean) => {
    onView({ ...view, values: next });
    if (isFinal && missingValues(endpoint, next).length === 0) query.run(next);
  };

  useEffect(() => {
    if (missing.length === 0) query.run(values);
  }, [client, endpoint.name]);

  const { answer, problem, isRunning, isLive } = query;
  return (
    <>
      <section class="ask" aria-label={endpoint.name}>
        <h2>{endpoint.name}</h2>
        <p class="description">{endpoint.description}</p>
        <form
          noValidate
          onSubmit={event => {
            event.preventDefault();
            query.run(values);
          }}
        >
          <ParameterForm endpoint={endpoint} values={values} onChange={change} />
          {endpoint.subsets && (
            <SqlPanel
              client={client}
              endpoint={endpoint}
              subsets={endpoint.subsets}
              values={values}
              onChange={change}
              onRun={() => query.run(values)}
            />
          )}
          <div class="actions">
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
              disabled={!answer}
              onClick={() => query.setLive(!isLive)}
              class={isLive ? 'live' : ''}
            >
              {isLive ? 'Pause live' : 'Live'}
            </button>
            {missing.length > 0 && <span class="hint">Still needed: {missing.join(', ')}</span>}
            <span class="running" role="status">
              {isRunning && !isLive ? 'Running…' : ''}
            </span>
          </div>
        </form>
        <TakeAlongPanel
          endpoint={endpoint}
          values={requestValues(endpoint, values, Date.now())}
          answer={answer}
        />
      </section>
      {problem && <ProblemBox problem={problem} onToken={onToken} onRetry={() => query.run(values)} />}
      {answer && (
        <ResultView
          columns={answer.columns}
          rows={answer.rows}
          facts={answer.facts}
          shown={view.shown}
          onShow={shown => onView({ ...view, shown })}
        />
      )}
      {answer && query.loadOlder && answer.rows.length > 0 && (
        <button type="button" class="older" disabled={isRunning} onClick={query.loadOlder}>
          Load older rows
        </button>
      )}
    </>
  );
}
