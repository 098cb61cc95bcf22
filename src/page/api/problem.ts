/** Why a request failed, in the gateway's words if it gave any. */
export class Problem extends Error {
  override readonly name = 'Problem';
  /** HTTP status; 0 if the gateway did not answer. */
  readonly status: number;
  readonly code: string;
  /** Place in the caller's SQL, from 1. */
  readonly position: { readonly line: number; readonly column: number } | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;

  constructor(message: string, details: Partial<Omit<Problem, 'message' | 'name'>>) {
    super(message);
    this.status = details.status ?? 0;
    this.code = details.code ?? 'unreachable';
    this.position = details.position;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.requestId = details.requestId;
  }
}

/** The `error` member of an answer (docs/errors.md); undefined if the answer is not an error. */
export function problemIn(body: unknown, response: Response): Problem | undefined {
  const error = isObject(body) ? body.error : undefined;
  if (response.ok && error === undefined) return undefined;
  const own = isObject(error) ? error : {};
  const { code, message, errors, request_id } = own;
  const [first] = Array.isArray(errors) ? errors : [own];
  const position = isObject(first) && typeof first.line === 'number' ? first : undefined;
  const retryAfter = Number(response.headers.get('retry-after'));
  return new Problem(typeof message === 'string' ? message : `${response.status} ${response.statusText}`, {
    status: response.status,
    code: typeof code === 'string' ? code : codeOf(response),
    position: position && { line: Number(position.line), column: Number(position.column) },
    retryAfterSeconds: retryAfter > 0 ? retryAfter : undefined,
    requestId: typeof request_id === 'string' ? request_id : undefined,
  });
}

/** The code for an answer without one: `COMPAT=logflare` sends none with a 401. */
const codeOf = ({ status }: Response) => (status === 401 ? 'unauthorized' : 'unknown');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
