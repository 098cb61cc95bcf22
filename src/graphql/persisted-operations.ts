import { createHash } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { errorCodes } from '../base/errors.ts';
import { badRequest } from './graphql-errors.ts';
import type { OperationContext } from './operation-context.ts';

/** Documents that clients name by the SHA-256 of their text, as 64 hexadecimal digits. */
export type DocumentStore = {
  find(hash: string): Promise<string | undefined>;
  /** Keeps a valid document; it may be forgotten at any time. */
  keep(hash: string, text: string): void;
};

export type PersistedOperations = {
  /** Documents by hash: no others are executed. Absent: every document is. */
  readonly listed: ReadonlyMap<string, string> | undefined;
  readonly documents: DocumentStore;
};

/**
 * Lets clients send the hash of a document in place of its text (`extensions.persistedQuery`, as Apollo's and urql's clients do). The
 * document is on the list, or some client has sent it in full before.
 */
export function persistedOperations({
  listed,
  documents,
}: PersistedOperations): Plugin<OperationContext, OperationContext> {
  return {
    async onParams({ params, setParams, context }) {
      const hash = readHash(params.extensions);
      // Some clients send null or no text in place of the document.
      const query = params.query || undefined;
      if (listed) {
        if (hash === undefined && query === undefined) return;
        const text = listed.get(hash ?? sha256(String(query)));
        // A text that differs from the one listed under its hash is refused.
        if (text === undefined || (query !== undefined && query !== text)) throw notListed();
        setParams({ ...params, query: text });
      } else if (hash !== undefined && query === undefined) {
        const text = await documents.find(hash);
        if (text === undefined) throw notFound();
        setParams({ ...params, query: text });
      } else if (hash !== undefined) {
        if (sha256(String(query)) !== hash)
          throw badRequest('The hash of the query is not the one that was sent');
        context.output.document = { hash, text: String(query) };
      }
    },
    // It is valid now.
    onExecute({ args }) {
      const { document } = (args.contextValue as OperationContext).output; // Yoga's type leaves the context open
      if (document) documents.keep(document.hash, document.text);
    },
  };
}

/** The hash by which clients name a document: SHA-256, hexadecimal. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** @throws GraphQLError for anything but `{"version": 1, "sha256Hash": "…"}` */
function readHash(extensions: unknown): string | undefined {
  const persisted = (extensions as { persistedQuery?: unknown } | null | undefined)?.persistedQuery;
  if (persisted === undefined || persisted === null) return undefined;
  const { version, sha256Hash } = Object(persisted) as { version?: unknown; sha256Hash?: unknown };
  if (version !== 1 || typeof sha256Hash !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256Hash)) {
    throw badRequest(
      'extensions.persistedQuery has the wrong form; allowed: {"version": 1, "sha256Hash": <hex>}',
    );
  }
  return sha256Hash.toLowerCase();
}

/** Apollo's and urql's clients recognise this message, and send the whole document next. */
function notFound(): GraphQLError {
  return failure('persisted_query_not_found', 'PersistedQueryNotFound', 200);
}

function notListed(): GraphQLError {
  return failure(
    'forbidden',
    'The document is not on the list of this gateway, which executes no others',
    403,
  );
}

function failure(
  code: 'persisted_query_not_found' | 'forbidden',
  message: string,
  http: number,
): GraphQLError {
  return new GraphQLError(message, {
    extensions: { code, status: errorCodes[code].status, http: { status: http } },
  });
}
