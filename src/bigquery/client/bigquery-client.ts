import { z } from 'zod';
import { parseJsonOrNot } from '../../base/json.ts';
import { errorAnswer, type Problem } from '../answers/bigquery-answers.ts';
import { BigQueryFailure } from '../answers/bigquery-failure.ts';
import { isEmulator } from './emulator-endpoint.ts';
import { createGoogleCredentials, noCredentials } from './google-credentials.ts';
import { mapEmulatorError } from './map-emulator-error.ts';
import { type Answered, createSender, type SenderOptions, type Sending } from './send-request.ts';

export type ClientOptions = SenderOptions & {
  /** The project that runs and pays for the queries. */
  readonly project: string;
  /**
   * Another server with BigQuery's REST API: a regional or private endpoint of Google's, or an emulator, which receives no
   * credentials. Default: the global endpoint in the universe of the credentials.
   */
  readonly endpoint?: string;
};

/** Sends authorised requests to one project of BigQuery, and turns failed answers into errors. */
export type BigQueryClient = {
  /**
   * Sends a request whose answer is small.
   * @throws BigQueryFailure, or the signal's reason when it aborts
   */
  call<Answer>(shape: z.ZodType<Answer>, request: Sending): Promise<Answer>;
  /**
   * Sends a request whose answer is read as it arrives.
   * @throws as `call`, and errors of the reader
   */
  stream<Answer>(request: Sending, reader: (body: AsyncIterable<Buffer>) => Promise<Answer>): Promise<Answer>;
  /** Ends all connections. */
  close(): void;
};

/** Maximum bytes of an answer without rows, or of an error; the widest schema is smaller. */
const maxTextBytes = 16 * 1024 * 1024;

/**
 * Opens a client of BigQuery. Google's library finds the credentials. The requests are our own, because Google's client can't abort them, and
 * holds a whole page in memory, however large it is.
 */
export function openClient({ project, endpoint, silentMs }: ClientOptions): BigQueryClient {
  const credentials = isEmulator(endpoint) ? noCredentials : createGoogleCredentials(project);
  // Not the library's own choice: an environment variable could name another server, which would then receive the credentials.
  const originOf = async (of = project) => {
    const server = endpoint?.replace(/\/+$/, '') ?? `https://bigquery.${await credentials.universeDomain()}`;
    return `${server}/bigquery/v2/projects/${encodeURIComponent(of)}`;
  };
  const { send, close } = createSender(originOf, credentials, { silentMs });

  async function stream<Answer>(
    request: Sending,
    reader: (body: AsyncIterable<Buffer>) => Promise<Answer>,
  ): Promise<Answer> {
    const answered = await send(request);
    const { status } = answered;
    if (status < 200 || status >= 300) throw await refusal(answered);
    try {
      return await answered.read(reader);
    } catch (error) {
      if (!(error instanceof BigQueryFailure) || error.reason !== 'brokenAnswer') throw error;
      throw new BigQueryFailure('brokenAnswer', `${request.path}: ${error.message}`, { status });
    }
  }

  return {
    stream,
    call: (shape, request) =>
      stream(request, async body => {
        const read = shape.safeParse(parseJsonOrNot(await textOf(body)));
        if (read.success) return read.data;
        throw new BigQueryFailure('brokenAnswer', z.prettifyError(read.error));
      }),
    close,
  };
}

async function refusal(answered: Answered): Promise<BigQueryFailure> {
  const { status, retryAfterSeconds } = answered;
  const text = await answered.read(textOf).catch(error => {
    if (!(error instanceof BigQueryFailure)) throw error;
    throw new BigQueryFailure(error.reason, `HTTP ${status}: ${error.message}`, { retryAfterSeconds });
  });
  const details = { status, retryAfterSeconds };
  if (status < 400)
    return new BigQueryFailure('redirected', `HTTP ${status}: ${text.slice(0, 200)}`, details);
  const read = errorAnswer.safeParse(parseJsonOrNot(text));
  if (!read.success) return new BigQueryFailure('noReason', `HTTP ${status}: ${text.slice(0, 200)}`, details);
  const { message: whole, status: word, errors } = read.data.error;
  const [first = { reason: word, message: '' } satisfies Problem] = errors;
  const { reason, message } = mapEmulatorError({ ...first, message: whole || first.message });
  return new BigQueryFailure(reason, message || `HTTP ${status}`, details);
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxTextBytes) throw new BigQueryFailure('brokenAnswer', `It has over ${maxTextBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
