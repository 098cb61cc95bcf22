type EdgeRowOptions = {
  id: string;
  /** ISO 8601. */
  timestamp: string;
  project: string;
  /** Default `/rest/v1/todos`. */
  path?: string;
  /** Default `https://<project>.supabase.co<path>`. */
  url?: string;
};

/** A row of `cloudflare.logs.prod` as an importer sends it: one request, one response. */
export function edgeRow({ id, timestamp, project, path = '/rest/v1/todos', url }: EdgeRowOptions) {
  const request = { method: 'GET', path, url: url ?? `https://${project}.supabase.co${path}` };
  return {
    id,
    timestamp,
    project,
    event_message: `GET | 200 | ${path}`,
    metadata: [{ request: [request], response: [{ status_code: 200 }] }] as object[],
  };
}
