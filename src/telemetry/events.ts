import type { AuthEvent } from '../auth/auth-events.ts';
import type { BigQueryEvent } from '../bigquery/bigquery-events.ts';
import type { CacheEvent } from '../cache/cache-events.ts';
import type { EngineEvent, SampleEvent } from '../duckdb/engine-events.ts';
import type { EndpointEvent } from '../endpoints/endpoint-events.ts';
import type { EngineGuardEvent } from '../engine/guard-engine.ts';
import type { HttpEvent } from '../http-messages/http-events.ts';
import type { LoadingEvent } from '../loading/loading-events.ts';
import type { PipelineEvent } from '../pipeline/pipeline-events.ts';
import type { WarmEvent } from '../warming/warm-events.ts';

/** Everything observable; only the subscribers decide what to do with it. */
export type GatewayEvent =
  | AuthEvent
  | BigQueryEvent
  | CacheEvent
  | EndpointEvent
  | EngineEvent
  | EngineGuardEvent
  | HttpEvent
  | LoadingEvent
  | PipelineEvent
  | ProcessEvent
  | SampleEvent
  | WarmEvent;

/** What happens to a process as a whole. */
export type ProcessEvent =
  /** It ends because of a signal. */
  | { readonly type: 'process.stopping'; readonly signal: string }
  /** It did not end in time, and is cut off. */
  | { readonly type: 'process.stop_cut_off'; readonly afterMs: number }
  /** Its event loop was held for `ms`: every request waited that long. */
  | { readonly type: 'process.stalled'; readonly ms: number }
  /** An uncaught error ends it. */
  | { readonly type: 'process.failed'; readonly cause: unknown };
