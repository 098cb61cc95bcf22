import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { Client, fetchExchange } from '@urql/core';

const { URL: origin, TOKEN, PROJECT: project } = process.env;
const headers = { Authorization: `Bearer ${TOKEN}` };
const text =
  'query ($project: String!) { usageApiCounts(interval: HOURLY, project: $project) { timestamp totalRestRequests } }';

const apollo = new ApolloClient({
  link: new HttpLink({ uri: `${origin}/graphql`, headers }),
  cache: new InMemoryCache({ dataIdFromObject: () => undefined }),
});
const byApollo = await apollo.query({ query: gql(text), variables: { project } });

const urql = new Client({
  url: `${origin}/graphql`,
  fetchOptions: { headers },
  preferGetMethod: false,
  exchanges: [fetchExchange],
});
const byUrql = await urql.query(text, { project }).toPromise();

const rows = ({ data }) =>
  data?.usageApiCounts.map(({ timestamp, totalRestRequests }) => [timestamp, totalRestRequests]);
process.stdout.write(JSON.stringify([rows(byApollo), rows(byUrql)]));
