import { GoogleAuth } from 'google-auth-library';
import { orAborted } from '../../base/time-limit.ts';
import { BigQueryFailure } from '../answers/bigquery-failure.ts';

/** The gateway's credentials at Google. */
export type GoogleCredentials = {
  /**
   * Headers that authorise a request.
   * @throws BigQueryFailure `noCredentials`, or `noAnswer` if the token server does not answer; the signal's reason when it aborts
   */
  headers(signal: AbortSignal): Promise<Headers>;
  /**
   * Discards headers that the server refused: their token is fetched again, even if it has not expired by our clock, unless it
   * has been replaced meanwhile.
   * @returns whether there was a token: only then will the next headers differ
   */
  refuse(headers: Headers): Promise<boolean>;
  /** The domain of Google's services for these credentials: `googleapis.com`, or that of a sovereign cloud. */
  universeDomain(): Promise<string>;
};

/** Credentials for a server that needs none: nothing is looked up, nothing is sent. */
export const noCredentials: GoogleCredentials = {
  headers: async () => new Headers(),
  refuse: async () => false,
  universeDomain: async () => 'googleapis.com',
};

/** The scope of a token that may run queries. */
const scopes = ['https://www.googleapis.com/auth/bigquery'];

/**
 * Finds credentials in Google's usual places. Google's library decides only by our clock whether a token has expired.
 * @param projectId without it the library spends seconds looking for one
 */
export function createGoogleCredentials(projectId: string): GoogleCredentials {
  const auth = new GoogleAuth({ scopes, projectId });
  return {
    universeDomain: () => auth.getUniverseDomain(),
    async headers(signal) {
      try {
        // Fetching a token takes no signal.
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

/** Milliseconds since 1970; not 0, which means no expiry to the library. */
const longAgo = 1;

function failureOf(error: unknown): BigQueryFailure {
  const { response, code, message } = error as {
    response?: { status: number };
    code?: unknown;
    message?: string;
  }; // GaxiosError, or any Error
  const status = response?.status;
  const isAway = status === undefined ? isNetworkCode(code) : status >= 500 || status === 429;
  // The library's error contains the request with its key, so it must not become a cause in the log.
  return new BigQueryFailure(isAway ? 'noAnswer' : 'noCredentials', message ?? 'No credentials');
}

/** Codes of sockets and DNS, such as `ECONNRESET`; a missing key file is `ENOENT`. */
function isNetworkCode(code: unknown): boolean {
  return typeof code === 'string' && /^(ECONN|ETIMEDOUT|ENET|EHOST|EPIPE|EAI_|ENOTFOUND)/.test(code);
}
