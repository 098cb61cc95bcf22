import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Endpoint, Values } from './api/catalogue.ts';
import { type Client, createClient, readSample } from './api/client.ts';
import { Problem } from './api/problem.ts';
import { keepToken, readToken } from './api/token.ts';

/** The token, and the saved queries that it covers. */
export type Session = {
  readonly token: string | undefined;
  readonly client: Client | undefined;
  /** Undefined until they are known. */
  readonly endpoints: readonly Endpoint[] | undefined;
  readonly problem: Problem | undefined;
  /** Values that have rows, on the gateway's own machine. */
  readonly sample: Values;
  readonly isAsking: boolean;
  ask(): void;
  give(token: string): void;
  dismiss(): void;
  reload(): void;
};

/** Keeps the token of this tab and the saved queries that it covers; asks for a token if there is none. */
export function useSession(): Session {
  const [token, setToken] = useState(readToken);
  const [sample, setSample] = useState<Values>({});
  const [isAsking, setAsking] = useState(false);
  const [endpoints, setEndpoints] = useState<readonly Endpoint[]>();
  const [problem, setProblem] = useState<Problem>();
  const [loads, setLoads] = useState(0);
  const client = useMemo(() => (token === undefined ? undefined : createClient(token)), [token]);

  const give = (given: string) => {
    keepToken(given);
    setAsking(false);
    setProblem(undefined);
    setToken(given);
    setLoads(before => before + 1);
  };

  useEffect(() => {
    void readSample().then(({ token: found, parameters = {} }) => {
      setSample(parameters);
      if (readToken() !== undefined) return;
      if (found) give(found);
      else setAsking(true);
    });
  }, []);

  useEffect(() => {
    if (!client) return;
    let isCurrent = true;
    client.endpoints().then(
      found => {
        if (!isCurrent) return;
        setProblem(undefined);
        setEndpoints(found);
      },
      error => {
        if (!isCurrent) return;
        const own = error instanceof Problem ? error : new Problem(String(error), { code: 'page' });
        setEndpoints(undefined);
        setProblem(own);
        if (own.status === 401) setAsking(true);
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [client, loads]);

  return {
    token,
    client,
    endpoints,
    problem,
    sample,
    isAsking,
    ask: () => setAsking(true),
    give,
    dismiss: () => setAsking(false),
    reload: () => setLoads(before => before + 1),
  };
}
