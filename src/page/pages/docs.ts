import { readToken } from '../api/token.ts';
import { openTokenBar } from './token-bar.ts';

type SwaggerUi = { preauthorizeApiKey(scheme: string, token: string): void };

/** What the script of swagger-ui-dist, which the page loads first, leaves behind. */
declare const SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => SwaggerUi;

await openTokenBar();
const spec = await (await fetch('/openapi.json')).json();
const ui = SwaggerUIBundle({
  spec,
  dom_id: '#root',
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  defaultModelsExpandDepth: 0,
  onComplete: authorize,
});

/** The token of this tab goes with every request that is tried. */
function authorize(): void {
  const token = readToken();
  const schemes: Record<string, { type: string }> = spec.components?.securitySchemes ?? {};
  for (const [name, { type }] of Object.entries(schemes)) {
    if (token && type === 'apiKey') ui.preauthorizeApiKey(name, token);
  }
}
