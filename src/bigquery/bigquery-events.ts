/** What happens between the gateway and BigQuery. Messages are BigQuery's own, with SQL and table ids: for the log alone. */
export type BigQueryEvent =
  | { readonly type: 'warehouse.retried'; readonly endpoint: string; readonly reason: string }
  | {
      readonly type: 'warehouse.failed';
      readonly endpoint: string;
      readonly reason: string;
      readonly message: string;
    };
