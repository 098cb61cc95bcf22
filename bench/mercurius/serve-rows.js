import { readFileSync } from 'node:fs';
import fastify from 'fastify';
import { GraphQLScalarType } from 'graphql';
import mercurius from 'mercurius';

/**
 * Mercurius with JIT over the gateway's own schema: each query resolves to rows that are in memory, as the first message brings
 * them; the port is the answer to it. Scalars pass as they are.
 */
process.once('message', async ({ data }) => {
  const schema = readFileSync(new URL('../../schema/schema.graphql', import.meta.url), 'utf8');
  const scalars = [...schema.matchAll(/^scalar (\w+)/gm)].map(([, name]) => [
    name,
    new GraphQLScalarType({ name }),
  ]);
  const queries = Object.entries(data).map(([name, rows]) => [name, () => rows]);
  const app = fastify();
  app.register(mercurius, {
    schema,
    resolvers: { ...Object.fromEntries(scalars), Query: Object.fromEntries(queries) },
    jit: 1,
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  process.send(app.server.address().port);
});
