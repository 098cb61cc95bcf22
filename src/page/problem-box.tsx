import type { Problem } from './api/problem.ts';

type ProblemBoxProps = {
  readonly problem: Problem;
  readonly onToken: () => void;
  readonly onRetry: () => void;
};

/** Shows a problem, and what to do about it. */
export function ProblemBox({ problem, onToken, onRetry }: ProblemBoxProps) {
  const { status, code, message, retryAfterSeconds, requestId } = problem;
  const isToken = status === 401 || code === 'unauthorized';
  const isPassing = status === 0 || status === 429 || status >= 500;
  return (
    <div class="problem" role="alert">
      <p>
        <b>{titleOf(problem)}</b> {message}
      </p>
      <p class="problem-more">
        {retryAfterSeconds !== undefined && <span>Worth another try in {retryAfterSeconds} s. </span>}
        {requestId && (
          <span>
            Request <span class="mono">{requestId}</span>
          </span>
        )}
      </p>
      {isToken && (
        <button type="button" onClick={onToken}>
          Give another token
        </button>
      )}
      {isPassing && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

function titleOf({ status, code }: Problem): string {
  if (status === 0) return 'Nobody answers.';
  if (status === 401) return 'The token is not accepted.';
  if (status === 429) return 'Too many requests.';
  return `${code} (${status}).`;
}
