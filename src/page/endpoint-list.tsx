import type { Endpoint } from './api/catalogue.ts';

type EndpointListProps = {
  readonly endpoints: readonly Endpoint[];
  readonly chosen: string | undefined;
  readonly onChoose: (endpoint: Endpoint) => void;
};

/** The saved queries that the token covers. */
export function EndpointList({ endpoints, chosen, onChoose }: EndpointListProps) {
  return (
    <nav class="endpoints" aria-label="Saved queries">
      <ul>
        {endpoints.map(endpoint => (
          <li key={endpoint.name}>
            <button
              type="button"
              aria-current={endpoint.name === chosen ? 'page' : undefined}
              onClick={() => onChoose(endpoint)}
            >
              <span class="endpoint-name">{endpoint.name}</span>
              <span class="endpoint-description">{endpoint.description}</span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}
