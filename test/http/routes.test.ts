import { expect, test } from 'vitest';
import { tracedRoute } from '../../src/http/routes.ts';

test.each([
  ['/api/endpoints/query/logs.all', '/api/endpoints/query/{endpoint}'],
  ['/endpoints/query/logs.all', '/endpoints/query/{endpoint}'],
  ['/api/endpoints/query/name/logs.all', '/api/endpoints/query/name/{endpoint}'],
  ['/api/endpoints', '/api/endpoints'],
  ['/api/endpoints/logs.all', '/api/endpoints/{endpoint}'],
  ['/api/endpoints/logs.all/check', '/api/endpoints/{endpoint}/check'],
  ['/api/sources/postgres.logs/rows', '/api/sources/{source}/rows'],
  ['/assets/explorer.js', '/assets/{file}'],
  ['/graphql', '/graphql'],
  ['/livez', false],
  ['/nowhere', undefined],
])('traces call the route of %s %s', (path, route) => {
  expect(tracedRoute(path)).toBe(route);
});
