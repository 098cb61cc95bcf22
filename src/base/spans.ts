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

/** Stands for a span where none is recorded. */
const noSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

let isRegistered: boolean | undefined;

/**
 * Whether an SDK records spans. It is loaded before the gateway (`node --import`), so that one look is enough: without an SDK a span
 * costs the reading of one variable.
 */
export function isTracing(): boolean {
  isRegistered ??= hasSdk();
  return isRegistered;
}

function hasSdk(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('') !== undefined;
}

/** Runs a part of the work in a span of its own, within the span around it. What it throws ends the span as an error. */
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

/** The same for what happens in the background too: there is a span only within one that has not ended. */
export function inSpanOfRequest<Result>(
  name: string,
  options: SpanOptions,
  run: (span: SpanNotes) => Promise<Result>,
): Promise<Result> {
  if (!isTracing() || !trace.getActiveSpan()?.isRecording()) return run(noSpan);
  return inSpan(name, options, run);
}

/** Starts a span within the one around it; the caller ends it. */
export function startSpan(name: string, { kind, attributes = {}, isRoot = false }: SpanOptions = {}): Span {
  if (!isTracing()) return noSpan;
  const around = trace.getActiveSpan();
  const links: Link[] = isRoot && around ? [{ context: around.spanContext() }] : [];
  const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes, links };
  return tracer.startSpan(name, { ...options, root: isRoot });
}

/** Starts the span of a request: within the caller's span, where the headers name one. */
export function startServerSpan(name: string, attributes: Attributes, headers: IncomingHttpHeaders): Span {
  // The active context may be that of an earlier request on the same connection.
  const parent = propagation.extract(ROOT_CONTEXT, headers);
  return tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
}

/** Runs what belongs to the span of a request: spans that start meanwhile are within it. */
export function within<Result>(span: Span, run: () => Result): Result {
  return context.with(trace.setSpan(ROOT_CONTEXT, span), run);
}

/** The error itself may quote SQL or data, so that only its code is recorded. */
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

/** Adds to the headers of a request to another service within which span it is sent. */
export function addTraceHeaders(headers: Record<string, string>): void {
  if (isTracing()) propagation.inject(context.active(), headers);
}

/**
 * The id of the trace that a request belongs to, 32 hexadecimal digits: that of its span, else the one that its caller sent in
 * `traceparent` (W3C Trace Context).
 */
export function traceIdOf(span: Span | undefined, { traceparent }: IncomingHttpHeaders): string | undefined {
  const own = span?.spanContext();
  if (own && isSpanContextValid(own)) return own.traceId;
  return typeof traceparent === 'string' ? traceparentShape.exec(traceparent)?.[1] : undefined;
}

/** Version, trace, span, flags; zeros alone are no ids. Later versions may append fields; the version `ff` is none. */
const traceparentShape =
  /^(?!ff)[0-9a-f]{2}-((?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** Hands the spans that were recorded to their exporter, before the process ends. */
export async function flushSpans(): Promise<void> {
  if (!isTracing()) return;
  const provider = trace.getTracerProvider();
  const sdk: object = provider instanceof ProxyTracerProvider ? provider.getDelegate() : provider;
  if ('forceFlush' in sdk && typeof sdk.forceFlush === 'function') await sdk.forceFlush();
}
