import { endpointGlob } from '../auth/caller.ts';
import { defaultScopes, type Scope, scopes } from '../auth/scopes.ts';
import { maxFixedLength, type TokenGrants } from '../auth/token-record.ts';
import type { TokenLimits } from '../auth/usage/token-limits.ts';
import type { Clock } from '../base/clock.ts';
import { parseTimestamp, readDuration } from '../base/parse-timestamp.ts';
import { readAssignments, UsageError } from './command-line.ts';

/** The options of `token issue` for the token's grants. */
export const grantOptions = {
  scope: { type: 'string', multiple: true },
  without: { type: 'string', multiple: true },
  endpoint: { type: 'string', multiple: true },
  param: { type: 'string', multiple: true },
  expires: { type: 'string' },
  'requests-per-second': { type: 'string' },
  'requests-per-minute': { type: 'string' },
  burst: { type: 'string' },
  'bytes-per-day': { type: 'string' },
  'bytes-per-month': { type: 'string' },
  'max-bytes-billed': { type: 'string' },
} as const;

type GrantValues = {
  readonly [Name in keyof typeof grantOptions]?:
    | ((typeof grantOptions)[Name] extends { multiple: true } ? string[] : string)
    | undefined;
};

/**
 * Reads the grants of a token from options.
 * @throws UsageError: which option, what it was, what is allowed
 */
export function readGrants(values: GrantValues, clock: Clock): TokenGrants {
  return {
    scopes: readScopes('--scope', values.scope, scopes),
    without: values.without && readScopes('--without', values.without, defaultScopes),
    endpoints: values.endpoint?.map(readGlob),
    parameters: values.param && readFixed(values.param),
    expiresAt: readExpiry(values.expires, clock),
    limits: readLimits(values),
    maxBytesBilled: readCount('--max-bytes-billed', values['max-bytes-billed'], 'bytes'),
  };
}

function readScopes(option: string, texts: readonly string[] = [], allowed: readonly Scope[]): Scope[] {
  return texts.map(text => {
    const scope = allowed.find(known => known === text);
    if (scope) return scope;
    throw new UsageError(`${option} is ${JSON.stringify(text)}; allowed: ${allowed.join(', ')}`);
  });
}

function readGlob(text: string): string {
  if (endpointGlob.test(text)) return text;
  throw new UsageError(
    `--endpoint is ${JSON.stringify(text)}; allowed: the name of a saved query, or a part of one with up to four *`,
  );
}

function readLimits(values: GrantValues): TokenLimits | undefined {
  const limits = {
    requestsPerSecond: readCount('--requests-per-second', values['requests-per-second'], 'requests'),
    requestsPerMinute: readCount('--requests-per-minute', values['requests-per-minute'], 'requests'),
    burst: readCount('--burst', values.burst, 'requests'),
    bytesPerDay: readCount('--bytes-per-day', values['bytes-per-day'], 'bytes'),
    bytesPerMonth: readCount('--bytes-per-month', values['bytes-per-month'], 'bytes'),
  };
  if (limits.burst && !limits.requestsPerSecond) {
    throw new UsageError('--burst is given without --requests-per-second, of which it is a part');
  }
  return Object.values(limits).some(limit => limit !== undefined) ? limits : undefined;
}

function readFixed(texts: readonly string[]): Record<string, string> {
  const fixed = new Map<string, string>();
  for (const [name, value] of readAssignments(texts)) {
    if (fixed.has(name)) throw new UsageError(`--param ${name} is given twice; allowed: one value`);
    fixed.set(name, value);
    if (value !== '' && value.length <= maxFixedLength) continue;
    throw new UsageError(
      `--param ${name} has ${value.length} characters; allowed: a value of 1 to ${maxFixedLength} characters`,
    );
  }
  return Object.fromEntries(fixed);
}

function readCount(option: string, text: string | undefined, unit: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new UsageError(`${option} is ${JSON.stringify(text)}; allowed: a number of ${unit}, 1 or more`);
}

function readExpiry(text: string | undefined, clock: Clock): string | undefined {
  if (text === undefined) return undefined;
  const lifetimeMs = readDuration(text);
  // Not by Date, which reads a bare 3600 as a year.
  const endMs = lifetimeMs === undefined ? Number(parseTimestamp(text)) / 1000 : clock.now() + lifetimeMs;
  if (endMs > clock.now()) return new Date(endMs).toISOString();
  const problem = Number.isNaN(endMs) ? '' : ', which is not in the future';
  throw new UsageError(
    `--expires is ${JSON.stringify(text)}${problem}; allowed: a date such as 2027-01-31, or a time from now such as 90d`,
  );
}
