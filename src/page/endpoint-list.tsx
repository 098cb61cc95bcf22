import { useState } from 'preact/hooks';
import type { Endpoint } from './api/catalogue.ts';

type EndpointListProps = {
  readonly endpoints: readonly Endpoint[];
  readonly chosen: string | undefined;
  readonly onChoose: (endpoint: Endpoint) => void;
};

/** From this many saved queries on, they can be searched. */
const searchableFrom = 8;

/** The saved queries that the token covers. */
export function EndpointList({ endpoints, chosen, onChoose }: EndpointListProps) {
  const [word, setWord] = useState('');
  const wanted = word.trim().toLowerCase();
  const shown = endpoints.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(wanted),
  );
  return (
    <nav class="endpoints" aria-label="Saved queries">
      {endpoints.length >= searchableFrom && (
        <input
          type="search"
          aria-label="Search the saved queries"
          placeholder={`Search ${endpoints.length} queries`}
          value={word}
          onInput={event => setWord(event.currentTarget.value)}
        />
      )}
      <ul>
        {shown.map(endpoint => (
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
