import { useEffect, useState } from 'preact/hooks';
import { dropPending, pushAddress, replaceAddress } from './address.ts';
import { EndpointList } from './endpoint-list.tsx';
import { EndpointView } from './endpoint-view.tsx';
import { initialValues } from './form/request-values.ts';
import { Header } from './header.tsx';
import { ProblemBox } from './problem-box.tsx';
import { TokenDialog } from './token-dialog.tsx';
import { useSession } from './use-session.ts';
import { readView, type View, writeView } from './view-url.ts';

/** The Explorer: the saved queries, and the one that is asked. */
export function App() {
  const session = useSession();
  const [view, setView] = useState<View | undefined>(() => readView(location.hash));
  // Counts the views that came from the address: each runs its query again.
  const [arrivals, setArrivals] = useState(0);
  const { endpoints, sample, problem } = session;

  useEffect(() => {
    // Also fires if only the fragment changed.
    const follow = () => {
      dropPending();
      setView(readView(location.hash));
      setArrivals(before => before + 1);
    };
    addEventListener('popstate', follow);
    return () => removeEventListener('popstate', follow);
  }, []);

  /** @param isStep whether going back leads to the view before it */
  const show = (next: View, isStep: boolean) => {
    setView(next);
    const address = writeView(next);
    if (isStep) pushAddress(address);
    else replaceAddress(address);
  };

  const endpoint = endpoints?.find(({ name }) => name === view?.endpoint);
  useEffect(() => {
    // Measurements make the better first picture.
    const first =
      endpoints?.find(({ columns }) => columns.some(({ type }) => type === 'INT64')) ?? endpoints?.[0];
    if (first && !view) show({ endpoint: first.name, values: initialValues(first, sample) }, false);
  }, [endpoints, view]);

  useEffect(() => {
    document.title = endpoint ? `${endpoint.name}: saved queries` : 'Saved queries';
  }, [endpoint]);

  return (
    <>
      <Header hasToken={session.token !== undefined} onToken={session.ask} />
      <div class="page">
        <EndpointList
          endpoints={endpoints ?? []}
          chosen={view?.endpoint}
          onChoose={chosen => show({ endpoint: chosen.name, values: initialValues(chosen, sample) }, true)}
        />
        <main>
          {problem && <ProblemBox problem={problem} onToken={session.ask} onRetry={session.reload} />}
          {!problem && !session.token && (
            <div class="empty">
              <p>
                This page needs an access token to ask the gateway. The gateway prints one at its start while
                none is issued; <code>npm run token -- issue --name me</code> issues one.
              </p>
              <button type="button" class="primary" onClick={session.ask}>
                Give a token
              </button>
            </div>
          )}
          {endpoints?.length === 0 && <p class="empty">The token covers no saved query.</p>}
          {endpoints && view && !endpoint && (
            <p class="empty" role="status">
              No saved query of yours is named <b>{view.endpoint}</b>.
            </p>
          )}
          {session.client && endpoint && view && (
            <EndpointView
              key={`${endpoint.name} ${arrivals}`}
              client={session.client}
              endpoint={endpoint}
              view={view}
              onView={next => show(next, false)}
              onToken={session.ask}
            />
          )}
        </main>
      </div>
      <TokenDialog
        isOpen={session.isAsking}
        problem={problem?.status === 401 ? problem.message : undefined}
        onToken={session.give}
        onClose={session.dismiss}
      />
    </>
  );
}
