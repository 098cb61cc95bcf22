import { serverAudits } from 'graphql-http';
import { beforeAll, expect, test } from 'vitest';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ now: '2026-01-15T12:00:00Z', environment: { NODE_ENV: 'production' } });
  return gateway.close;
});

/** What the reference implementation of GraphQL over HTTP finds of a server: https://graphql-http.com, "Server audits". */
const audits = serverAudits({
  url: () => `${gateway.origin}/graphql`,
  fetchFn: (url: string, init?: RequestInit) => {
    const headers = new Headers(init?.headers);
    headers.set('x-api-key', testToken);
    return fetch(url, { ...init, headers });
  },
});

test('contract 3.1: the reference has audits of every strength', () => {
  expect(audits).toHaveLength(61);
});

test.each(audits.map(audit => [audit.id, audit.name, audit] as const))(
  'contract 3.1: GraphQL over HTTP, %s: %s',
  async (_id, _name, audit) => {
    const result = await audit.fn();
    expect(result.status === 'ok' ? 'ok' : `${result.status}: ${result.reason}`).toBe('ok');
  },
);
