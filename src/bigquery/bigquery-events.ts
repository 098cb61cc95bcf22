/** What happens between the gateway and BigQuery. Messages are BigQuery's own, with SQL and table ids: only for the log. */
export type BigQueryEvent =
  | { readonly type: 'warehouse.retried'; readonly endpoint: string; readonly reason: string }
  /** A job was replaced by another one; `mayBeBilled`: the first may have run, so that the query may be billed twice. */
  | {
      readonly type: 'warehouse.job_replaced';
      readonly endpoint: string;
      readonly reason: string;
      readonly mayBeBilled: boolean;
    }
  | {
      readonly type: 'warehouse.failed';
      readonly endpoint: string;
      readonly reason: string;
      readonly message: string;
    }
  /** Some queries fail, or cost more than necessary; `fix` says what to do. */
  | { readonly type: 'warehouse.warned'; readonly found: string; readonly fix: string };
