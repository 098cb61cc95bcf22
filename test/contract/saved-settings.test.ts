import { beforeAll, expect, test } from 'vitest';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ now: '2026-01-15T12:00:00Z' });
  return gateway.close;
});

const timestamp = { type: 'timestamp', required: false };

test.each([
  {
    name: 'logs.all',
    settings: { cacheSeconds: 0, warmSeconds: 0 },
    parameters: {
      project: { type: 'string', required: true },
      iso_timestamp_start: timestamp,
      iso_timestamp_end: timestamp,
    },
  },
  {
    name: 'usage.api-counts',
    settings: { cacheSeconds: 900, warmSeconds: 300 },
    parameters: {
      interval: { type: 'enum', values: ['minutely', 'hourly', 'daily'], required: true },
      project: { type: 'regexp', required: true },
    },
  },
])('contract 1.1: the parameters and settings of $name', ({ name, settings, parameters }) => {
  const definition = gateway.endpoint(name);
  expect(definition).toMatchObject({ ...settings, maxRows: 1000, sandbox: true, redactPii: false });
  const declared = Object.fromEntries(definition.parameters.map(({ name: key, ...rest }) => [key, rest]));
  expect(declared).toMatchObject(parameters);
  expect(Object.keys(declared).sort()).toEqual(Object.keys(parameters).sort());
});
