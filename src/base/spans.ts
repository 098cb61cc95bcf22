import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  context,
  INVALID_SPAN_CONTEXT,
  isSpanContextValid,
  type Link,
  ProxyTracerProvider,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

/** One part of a request's work, as OpenTelemetry records it. */
export type SpanNotes = Pick<Span, 'setAttribute' | 'setAttributes'>;

type SpanOptions = {
  /** Default `internal`; `client`: another service does the work. */
  readonly kind?: 'client' | 'internal';
  /** Names of OpenTelemetry's semantic conventions where they have one, else `saved_query.…`. Never a parameter's value, a token or SQL. */
  readonly attributes?: Attributes;
  /** Whether it begins a trace of its own, linked to the span around it. Default false. */
  readonly isRoot?: boolean;
};

const tracer = trace.getTracer('saved-query-gateway');

/** Used in place of a span while none are recorded. */
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

let isRegistered: boolean | undefined;

/**
 * Whether an SDK records spans. It is loaded before the gateway (`node --import`), so one check is enough: without an SDK a span
 * costs reading one variable.
 */
export function isTracing(): boolean {
  isRegistered ??= hasSdk();
  return isRegistered;
}

function hasSdk(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('') !== undefined;
}

/** Runs work in a span of its own, within the surrounding span. If the work throws, the span ends as failed. */
export async function inSpan<Result>(
  name: string,
  options: SpanOptions,
  run: (span: SpanNotes) => Promise<Result>,
): Promise<Result> {
  if (!isTracing()) return run(noSpan);
  const span = startSpan(name, options);
  try {
    return await context.with(trace.setSpan(context.active(), span), run, undefined, span);
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Like `inSpan`, for work that also happens in the background: makes a span only within one that has not ended. */
export function inSpanOfRequest<Result>(
  name: string,
  options: SpanOptions,
  run: (span: SpanNotes) => Promise<Result>,
): Promise<Result> {
  if (!isTracing() || !trace.getActiveSpan()?.isRecording()) return run(noSpan);
  return inSpan(name, options, run);
}

/** Starts a span within the surrounding one; the caller must end it. */
export function startSpan(name: string, { kind, attributes = {}, isRoot = false }: SpanOptions = {}): Span {
  if (!isTracing()) return noSpan;
  const around = trace.getActiveSpan();
  const links: Link[] = isRoot && around ? [{ context: around.spanContext() }] : [];
  const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes, links };
  return tracer.startSpan(name, { ...options, root: isRoot });
}

/** Starts the span of a request: within the caller's span if the headers name one. */
export function startServerSpan(name: string, attributes: Attributes, headers: IncomingHttpHeaders): Span {
  // The active context may be that of an earlier request on the same connection.
  const parent = propagation.extract(ROOT_CONTEXT, headers);
  return tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
}

/** Runs a function within a span: spans that it starts become children of it. */
export function within<Result>(span: Span, run: () => Result): Result {
  return context.with(trace.setSpan(ROOT_CONTEXT, span), run);
}

/** Records only the code of an error: its message may quote SQL or data. */
function failSpan(span: Span, error: unknown): void {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  markFailed(span, code ?? (error instanceof Error ? error.name : 'error'));
}

/** Marks a span as failed. */
export function markFailed(span: Span, code: string): void {
  span.setAttribute('error.type', code);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

/** Adds the current span to the headers of a request to another service. */
export function addTraceHeaders(headers: Record<string, string>): void {
  if (isTracing()) propagation.inject(context.active(), headers);
}

/**
 * The trace id of a request, 32 hexadecimal digits: that of its span, else the one that its caller sent in
 * `traceparent` (W3C Trace Context).
 */
export function traceIdOf(span: Span | undefined, { traceparent }: IncomingHttpHeaders): string | undefined {
  const own = span?.spanContext();
  if (own && isSpanContextValid(own)) return own.traceId;
  return typeof traceparent === 'string' ? traceparentShape.exec(traceparent)?.[1] : undefined;
}

/** Version, trace, span, flags. Ids of zeros alone are invalid, and so is the version `ff`; later versions may append fields. */
const traceparentShape =
  /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** Exports the recorded spans before the process ends. */
export async function flushSpans(): Promise<void> {
  if (!isTracing()) return;
  const provider = trace.getTracerProvider();
  const sdk: object = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  if ('forceFlush' in sdk && typeof sdk.forceFlush === 'function') await sdk.forceFlush();
}

/** A named part of a request's time; the `Server-Timing` header lists them. */
export type Stage = { readonly name: string; readonly ms: number };

/** A stopwatch with laps. */
export type Stages = {
  /** Ends a lap: the time since the last one belongs to this stage. */
  done(name: string): void;
  list(): readonly Stage[];
  totalMs(): number;
};

/** Starts a stopwatch. */
export function startStages(): Stages {
  const list: Stage[] = [];
  const startedMs = performance.now();
  let lapMs = startedMs;
  return {
    done(name) {
      const nowMs = performance.now();
      list.push({ name, ms: nowMs - lapMs });
      lapMs = nowMs;
    },
    list: () => list,
    totalMs: () => performance.now() - startedMs,
  };
}
