import { GoogleAuth } from 'google-auth-library';
import { orAborted } from '../../base/or-aborted.ts';
import { BigQueryFailure } from '../answers/bigquery-failure.ts';

/** Who the gateway is to Google. */
export type GoogleCredentials = {
  /**
   * Headers that authorise a request.
   * @throws BigQueryFailure `noCredentials`, or `noAnswer` where the server of tokens is away; the signal's reason when it aborts
   */
  headers(signal: AbortSignal): Promise<Headers>;
  /**
   * Takes back headers that the server refused. Their token is fetched anew, whatever our clock says of it; one that has been
   * replaced meanwhile is not.
   * @returns whether there was a token: only then are the next headers any better
   */
  refuse(headers: Headers): Promise<boolean>;
  /** The domain that Google's services have for these credentials: `googleapis.com`, or that of a sovereign cloud. */
  universeDomain(): Promise<string>;
};

/** Credentials for a server that wants none: nothing is looked for, nothing is sent. */
export const noCredentials: GoogleCredentials = {
  headers: async () => new Headers(),
  refuse: async () => false,
  universeDomain: async () => 'googleapis.com',
};

/** The scope of a token that runs queries. */
const scopes = ['https://www.googleapis.com/auth/bigquery'];

/**
 * Finds credentials the usual Google ways. Google's library relies on our clock alone to know when a token has expired.
 * @param projectId without it the library looks for one, for seconds, where there is none
 */
export function createGoogleCredentials(projectId: string): GoogleCredentials {
  const auth = new GoogleAuth({ scopes, projectId });
  return {
    universeDomain: () => auth.getUniverseDomain(),
    async headers(signal) {
      try {
        // Fetching a token knows no signal.
        return await orAborted(auth.getRequestHeaders(), signal);
      } catch (error) {
        signal.throwIfAborted();
        throw failureOf(error);
      }
    },
    async refuse(headers) {
      const client = await auth.getClient();
      const { credentials } = client;
      const refused = headers.get('authorization');
      if (refused === `Bearer ${credentials.access_token}`) {
        client.setCredentials({ ...credentials, expiry_date: longAgo });
      }
      return refused !== null;
    },
  };
}

/** Milliseconds since 1970; the library takes 0 for no expiry. */
const longAgo = 1;

function failureOf(error: unknown): BigQueryFailure {
  const { response, code, message } = error as {
    response?: { status: number };
    code?: unknown;
    message?: string;
  }; // GaxiosError, or any Error
  const status = response?.status;
  const isAway = status === undefined ? isOfNetwork(code) : status >= 500 || status === 429;
  // The library's error holds the request with its key: no cause for a log.
  return new BigQueryFailure(isAway ? 'noAnswer' : 'noCredentials', message ?? 'No credentials');
}

/** Codes of sockets and names, as `ECONNRESET`; a key file that is not there is `ENOENT`. */
function isOfNetwork(code: unknown): boolean {
  return typeof code === 'string' && /^(ECONN|ETIMEDOUT|ENET|EHOST|EPIPE|EAI_|ENOTFOUND)/.test(code);
}
