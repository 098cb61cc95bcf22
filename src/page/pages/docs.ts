import type { Values } from '../api/catalogue.ts';
import { createClient, readSample } from '../api/client.ts';
import { parseExactJson, rawJson } from '../api/exact-json.ts';
import { readToken } from '../api/token.ts';
import { openTokenBar } from './token-bar.ts';

type SwaggerUi = { preauthorizeApiKey(scheme: string, token: string): void };

/** What a plugin of Swagger UI is given. */
type SwaggerSystem = {
  readonly React: { createElement(name: string, props: object | null, ...children: unknown[]): unknown };
};

/** The global of the script of swagger-ui-dist, which the page loads first. */
declare const SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => SwaggerUi;

keepDigits();
await openTokenBar();
followTheme();
const root = document.querySelector('#root')!;
new MutationObserver(() => mend(root)).observe(root, { childList: true, subtree: true });
// If the document needs a token, it is that of this tab.
const spec = await createClient(readToken() ?? '')
  .document()
  .catch(problem => void tell(problem));
if (spec) await show(spec as ApiDocument); // the gateway's own

type ApiDocument = {
  info: { license?: unknown };
  paths: Record<string, Operations>;
  components?: { securitySchemes?: Record<string, { type: string }> };
};

type Operations = Record<string, { parameters?: DocumentParameter[] }>;
type DocumentParameter = {
  name: string;
  required?: boolean;
  schema?: { enum?: readonly string[] };
  example?: unknown;
};

async function show(document: ApiDocument): Promise<void> {
  prepare(document, (await readSample()).parameters ?? {});
  const ui = SwaggerUIBundle({
    spec: document,
    dom_id: '#root',
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    defaultModelsExpandDepth: 0,
    plugins: [adapt],
    onComplete: () => authorize(ui, document),
  });
}

/** Swagger UI parses an answer and writes it again, in which integers beyond 2^53 would be rounded. It takes no BigInt in the document. */
function keepDigits(): void {
  const { parse } = JSON;
  JSON.parse = (text, reviver) =>
    !reviver && String(text).startsWith('{"result":') ? parseExactJson(String(text)) : parse(text, reviver);
  Object.assign(BigInt.prototype, {
    toJSON(this: bigint) {
      return rawJson(String(this));
    },
  });
}

/** Says why there is no document. */
function tell({ message }: Error): void {
  const line = document.createElement('p');
  line.role = 'alert';
  line.className = 'problem-line';
  line.textContent = message;
  root.append(line);
}

/** Lists each saved query once, by its name, with values to try it with, and without the note that no license is granted. */
function prepare(document: ApiDocument, sample: Values): void {
  delete document.info.license;
  for (const [path, operations] of Object.entries(document.paths)) {
    if (/\/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(path)) delete document.paths[path];
    for (const { parameters = [] } of Object.values(operations)) {
      for (const parameter of parameters.filter(
        ({ required, example }) => required && example === undefined,
      )) {
        const value = sample[parameter.name] ?? parameter.schema?.enum?.[0];
        if (value !== undefined) parameter.example = value;
      }
    }
  }
}

/**
 * Leaves out what the page has already or has only one of: the token is in the bar at the top, and there is one server. A link inside a
 * button can't be reached by keyboard.
 */
function adapt({ React }: SwaggerSystem) {
  const nothing = () => null;
  return {
    components: {
      ServersContainer: nothing,
      AuthorizeBtnContainer: nothing,
      authorizeOperationBtn: nothing,
      DeepLink: ({ text }: { readonly text: unknown }) => React.createElement('span', null, text),
    },
  };
}

/** Adds what screen readers and the keyboard need and Swagger UI leaves out. */
function mend(root: Element): void {
  for (const title of root.querySelectorAll('h3.opblock-tag')) title.ariaLevel = '2';
  for (const title of root.querySelectorAll('.opblock :is(h4, h5)'))
    title.ariaLevel = title.matches('h4') ? '3' : '4';
  for (const about of root.querySelectorAll('.information-container')) {
    about.role = 'region';
    about.ariaLabel = 'About';
  }
  for (const field of root.querySelectorAll<HTMLElement>('tr[data-param-name] :is(select, input, textarea)'))
    field.ariaLabel = field.closest('tr')!.dataset.paramName ?? '';
  for (const field of root.querySelectorAll('.content-type')) field.ariaLabel = 'Media type';
  for (const text of root.querySelectorAll<HTMLElement>('pre.microlight')) text.tabIndex = 0;
}

/** Swagger UI has a class for its dark colours. */
function followTheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const show = () => {
    const { theme } = document.documentElement.dataset;
    document.documentElement.classList.toggle('dark-mode', theme ? theme === 'dark' : dark.matches);
  };
  show();
  dark.addEventListener('change', show);
}

/** The token of this tab goes with every request that is tried. */
function authorize(ui: SwaggerUi, { components }: ApiDocument): void {
  const token = readToken();
  for (const [name, { type }] of Object.entries(components?.securitySchemes ?? {})) {
    if (token && type === 'apiKey') ui.preauthorizeApiKey(name, token);
  }
}
