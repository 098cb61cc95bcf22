import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../../base/errors.ts';
import { type Address, reachGateway } from './reach-gateway.ts';

/**
 * Runs `mcp`: passes an agent's messages from standard input to `/mcp` of a gateway, and its answers to standard output, until the input ends.
 * @throws UsageError, and as `reachGateway`
 */
export async function runMcpCommand(environment: NodeJS.ProcessEnv, given: Address): Promise<void> {
  const gateway = await reachGateway(environment, given);
  const agent = new StdioServerTransport();
  const server = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${gateway.token}` } },
  });
  const ended = Promise.withResolvers<void>();
  const underWay = new Set<Promise<void>>();
  agent.onmessage = message => {
    const passed = server
      .send(message)
      .catch(error => answerFailure(agent, message, error))
      .finally(() => underWay.delete(passed));
    underWay.add(passed);
  };
  server.onmessage = message => void agent.send(message);
  agent.onclose = ended.resolve;
  process.stdin.once('end', ended.resolve);
  await Promise.all([server.start(), agent.start()]);
  await ended.promise;
  await Promise.allSettled(underWay);
  await server.close();
  await gateway.close();
}

/** Answers a message that could not be delivered. A notification has no answer: its failure goes to standard error. */
async function answerFailure(
  agent: StdioServerTransport,
  message: JSONRPCMessage,
  error: unknown,
): Promise<void> {
  const text = messageOf(error);
  if ('method' in message && 'id' in message) {
    await agent.send({ jsonrpc: '2.0', id: message.id, error: { code: -32603, message: text } });
  } else process.stderr.write(`${text}\n`);
}
