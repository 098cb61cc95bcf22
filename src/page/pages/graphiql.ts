import type { Values } from '../api/catalogue.ts';
import { createClient, readSample } from '../api/client.ts';
import { readToken } from '../api/token.ts';
import { initialValues } from '../form/request-values.ts';
import { graphqlOperation } from '../result/take-along.ts';
import { readTheme } from '../theme.ts';
import { openTokenBar } from './token-bar.ts';

/** The global of the script of @graphql-yoga/render-graphiql, which the page loads first. */
declare const YogaGraphiQL: {
  renderYogaGraphiQL(place: Element, options: Readonly<Record<string, unknown>>): void;
};

const root = document.querySelector<HTMLElement>('#root')!;

/** Monaco's workers by label; their addresses change with their content, so the page has them as data attributes. */
Object.assign(globalThis, {
  MonacoEnvironment: { globalAPI: false, getWorkerUrl: (_: string, label: string) => root.dataset[label] },
});

// GraphiQL shows syntax errors with a stack, whose lines are those of its own scripts.
Object.assign(Error, { stackTraceLimit: 0 });

await openTokenBar();
const theme = readTheme();
sendTokenToGraphql();
new MutationObserver(mend).observe(root, {
  childList: true,
  subtree: true,
  attributeFilter: ['aria-selected'],
});
YogaGraphiQL.renderYogaGraphiQL(root, {
  endpoint: '/graphql',
  title: 'Saved queries',
  shouldPersistHeaders: false,
  defaultTabs: await exampleTabs(),
  // Without it, GraphiQL offers its own choice.
  ...(theme !== 'auto' && { forcedTheme: theme }),
});

/** To screen readers, tabs that contain a button to close them are no tabs, but a list of buttons. */
function mend(): void {
  for (const list of root.querySelectorAll('[role=tablist]')) list.removeAttribute('role');
  for (const tab of root.querySelectorAll('.graphiql-tab')) {
    const button = tab.querySelector('button');
    if (button && tab.ariaSelected !== null) button.ariaPressed = tab.ariaSelected;
    for (const name of ['role', 'aria-selected']) tab.removeAttribute(name);
  }
}

/** GraphiQL's requests carry the token of this tab, unless their headers have another. */
function sendTokenToGraphql(): void {
  const plainFetch = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    const token = readToken();
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    const { origin, pathname } = new URL(input instanceof Request ? input.url : input, location.href);
    const isOurs = origin === location.origin && pathname === '/graphql';
    const isNamed = headers.has('x-api-key') || headers.has('authorization');
    if (token && isOurs && !isNamed) headers.set('x-api-key', token);
    return plainFetch(input, { ...init, headers });
  };
}

/** Maximum tabs of examples: GraphiQL draws all of them. */
const maxTabs = 20;

/** An operation for each saved query that the token covers. */
async function exampleTabs() {
  const token = readToken();
  const endpoints = token
    ? await createClient(token)
        .endpoints()
        .catch(() => [])
    : [];
  const { parameters = {} }: { parameters?: Values } = await readSample();
  return endpoints.slice(0, maxTabs).map(endpoint => ({
    query: graphqlOperation(endpoint, initialValues(endpoint, parameters)),
  }));
}
