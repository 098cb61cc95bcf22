import { createHash } from 'node:crypto';
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { Client, fetchExchange } from '@urql/core';
import { persistedExchange } from '@urql/exchange-persisted';

// Prints, for Apollo Client and for urql: the rows, and whether each request held the document, of a client that asks first and of a later one.
const { URL: origin, TOKEN, PROJECT: project } = process.env;
const headers = { Authorization: `Bearer ${TOKEN}` };
const variables = { project };
const text = name =>
  `query ${name}($project: String!) { usageApiCounts(interval: HOURLY, project: $project) { timestamp totalRestRequests } }`;

function watchedFetch() {
  const held = [];
  const watched = (url, init) => {
    const sent = init.method === 'GET' ? new URL(url).searchParams.get('query') : JSON.parse(init.body).query;
    held.push(Boolean(sent));
    return fetch(url, init);
  };
  return { held, watched };
}

async function askByApollo() {
  const { held, watched } = watchedFetch();
  const persisted = new PersistedQueryLink({
    sha256: document => createHash('sha256').update(document).digest('hex'),
  });
  const http = new HttpLink({ uri: `${origin}/graphql`, headers, fetch: watched });
  const client = new ApolloClient({ link: ApolloLink.from([persisted, http]), cache: new InMemoryCache() });
  const { data } = await client.query({ query: gql(text('ByApollo')), variables });
  return [data?.usageApiCounts.length, held];
}

async function askByUrql() {
  const { held, watched } = watchedFetch();
  const client = new Client({
    url: `${origin}/graphql`,
    fetch: watched,
    fetchOptions: { headers },
    preferGetMethod: false,
    exchanges: [persistedExchange({ preferGetForPersistedQueries: true }), fetchExchange],
  });
  const { data } = await client.query(text('ByUrql'), variables).toPromise();
  return [data?.usageApiCounts.length, held];
}

const answers = [];
for (const ask of [askByApollo, askByApollo, askByUrql, askByUrql]) answers.push(await ask());
process.stdout.write(JSON.stringify(answers));
