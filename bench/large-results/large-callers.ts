import { Agent, request } from 'node:http';

/** Callers who ask for large results again and again. */
export type LargeCallersSettings = {
  readonly origin: string;
  /** One of each caller. */
  readonly tokens: readonly string[];
  /** What each result is made of: a word of `gigabyte-warehouse.ts`. */
  readonly form: string;
  readonly seconds: number;
};

/** How often they were answered. */
export type LargeCallersResult = { readonly refused: number; readonly otherwise: number };

process.once('message', async ({ origin, tokens, form, seconds }: LargeCallersSettings) => {
  const agent = new Agent({ keepAlive: true });
  process.send?.('ready');
  const endMs = performance.now() + seconds * 1000;
  const counts = { refused: 0, otherwise: 0 };
  let asked = 0;

  async function askAgain(token: string): Promise<void> {
    while (performance.now() < endMs) {
      const query = { project: 'ours', sql: `select 'x${asked++}' as x -- ${form}` };
      const text = await ask(`/api/endpoints/query/logs.all?${new URLSearchParams(query)}`, token);
      counts[text.includes('result_too_large') ? 'refused' : 'otherwise'] += 1;
    }
  }

  function ask(path: string, token: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request(origin + path, { agent, headers: { 'x-api-key': token } });
      sent.on('error', reject);
      sent.on('response', async response => resolve(Buffer.concat(await response.toArray()).toString()));
      sent.end();
    });
  }

  await Promise.all(tokens.map(askAgain));
  agent.destroy();
  process.send?.(counts satisfies LargeCallersResult);
  process.disconnect?.();
});
