import type { HttpEvent } from '../http-messages/http-events.ts';

type Answered = Extract<HttpEvent, { type: 'http.answered' }>;

/**
 * Makes the function that renders the log line of an answered request, byte for byte as pino would. Every request has this line, and
 * pino takes 4 µs for it, a fifth of a hit; this takes less than one.
 * @param level pino's number of the level
 */
export function createAnsweredLine(level: number): (event: Answered, nowMs: number) => string {
  let lastMs = Number.NaN;
  let start = '';
  return (event, nowMs) => {
    if (nowMs !== lastMs) {
      lastMs = nowMs;
      start = `{"level":${level},"time":"${new Date(nowMs).toISOString()}","event":"${event.type}","requestId":`;
    }
    const { requestId, method, path, status, bytes, ms, endpoint, cache, tokenId, rows, traceId } = event;
    let line = `${start}${quote(requestId)},"method":${quote(method)},"path":${quote(path)}`;
    line += `,"status":${status},"bytes":${bytes},"ms":${ms}`;
    if (endpoint !== undefined) line += `,"endpoint":${quote(endpoint)}`;
    if (cache !== undefined) line += `,"cache":${quote(cache)}`;
    if (tokenId !== undefined) line += `,"tokenId":${quote(tokenId)}`;
    if (rows !== undefined) line += `,"rows":${rows}`;
    if (traceId !== undefined) line += `,"traceId":${quote(traceId)}`;
    return `${line}}\n`;
  };
}

const quote = JSON.stringify;
