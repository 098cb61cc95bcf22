/**
 * BigQuery's answers, one function each, so that every fake has the same shapes. Sources: conversations recorded from the
 * service, and the discovery document of BigQuery v2.
 */

/** A column of a schema, as BigQuery writes it. */
export type Field = {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  readonly fields?: readonly Field[];
};

/** BigQuery's `ErrorProto`. */
export type ErrorProto = { readonly reason: string; readonly message: string; readonly location?: string };

export type JobReference = {
  readonly projectId: string;
  readonly jobId: string;
  readonly location: string;
};

/** A table, from `project.dataset.table`. */
export function tableReference(name: string) {
  const [projectId = '', datasetId = '', tableId = ''] = name.split('.');
  return { projectId, datasetId, tableId };
}

export type JobFacts = {
  readonly reference: JobReference;
  /** What was asked for. */
  readonly configuration?: object;
  readonly state?: 'PENDING' | 'RUNNING' | 'DONE';
  readonly failure?: ErrorProto;
  /** What `statistics.query` says, once it is done. */
  readonly query?: { readonly totalBytesProcessed: string; readonly [name: string]: unknown };
  readonly totalSlotMs?: string;
  /** Milliseconds since 1970. */
  readonly createdMs?: number;
};

/** A job, as jobs.insert, jobs.get and jobs.cancel describe it. Kind, status, reference and statistics are always there. */
export function jobResource(job: JobFacts) {
  const { reference, configuration, state = 'DONE', failure, totalSlotMs, createdMs = 0 } = job;
  const query = job.query && { ...job.query, totalSlotMs };
  const { projectId, jobId, location } = reference;
  const isDone = state === 'DONE';
  const times = {
    creationTime: String(createdMs),
    ...(state === 'PENDING' ? {} : { startTime: String(createdMs + 1) }),
    ...(isDone ? { endTime: String(createdMs + 2) } : {}),
  };
  return {
    kind: 'bigquery#job',
    etag: 'mE+etag==',
    id: `${projectId}:${location}.${jobId}`,
    selfLink: `https://bigquery.googleapis.com/bigquery/v2/projects/${projectId}/jobs/${jobId}?location=${location}`,
    user_email: `gateway@${projectId}.iam.gserviceaccount.com`,
    configuration: { ...configuration, jobType: 'QUERY' },
    jobReference: reference,
    statistics: {
      ...times,
      ...(isDone && query ? { totalBytesProcessed: query.totalBytesProcessed, totalSlotMs, query } : {}),
    },
    status: { state, ...(failure ? { errorResult: failure, errors: [failure] } : {}) },
  };
}

export type DryRunFacts = {
  readonly location?: string;
  readonly statementType?: string;
  /** Tables that it would read, `project.dataset.table`. */
  readonly tables?: readonly string[];
  readonly fields?: readonly Field[];
  readonly bytes?: number;
  /** Answered from the query cache: no bytes, and no tables. */
  readonly cacheHit?: boolean;
  readonly configuration?: object;
};

/** A dry run, as jobs.insert answers it: a job without an id, whatever id the request named. */
export function dryRunJob(facts: DryRunFacts) {
  const { location = 'EU', statementType = 'SELECT', tables = [], fields = [], cacheHit = false } = facts;
  const totalBytesProcessed = String(cacheHit ? 0 : (facts.bytes ?? 0));
  const referencedTables = cacheHit ? [] : tables.map(tableReference);
  return {
    kind: 'bigquery#job',
    etag: 'mE+etag==',
    id: `payer:${location}.`,
    configuration: { ...facts.configuration, dryRun: true, jobType: 'QUERY' },
    jobReference: { projectId: 'payer', location },
    statistics: {
      creationTime: '1572287796369',
      totalBytesProcessed,
      query: {
        totalBytesProcessed,
        totalBytesBilled: '0',
        cacheHit,
        // BigQuery leaves out what is empty.
        ...(referencedTables.length > 0 ? { referencedTables } : {}),
        schema: { fields },
        statementType,
        totalBytesProcessedAccuracy: 'PRECISE',
      },
    },
    status: { state: 'DONE' },
  };
}

/** A dry run, as jobs.query answers it: no id either, and no word of the tables. */
export function dryRunAnswer({ location = 'EU', fields = [], bytes = 0, cacheHit = false }: DryRunFacts) {
  return {
    kind: 'bigquery#queryResponse',
    schema: { fields },
    jobReference: { projectId: 'payer', location },
    totalBytesProcessed: String(cacheHit ? 0 : bytes),
    jobComplete: true,
    cacheHit,
  };
}

/** What both jobs.query and jobs.getQueryResults say of a job that has not ended. */
export function incompleteAnswer(kind: string, jobReference: JobReference) {
  return { kind, jobReference, jobComplete: false };
}

/** What jobs.cancel answers, at once: the job may still run. */
export function cancelAnswer(job: JobFacts) {
  return { kind: 'bigquery#jobCancelResponse', job: jobResource(job) };
}

/** A table as `tables.get` describes it: by default partitioned by day on `timestamp`, the filter required, clustered by `project`. */
export function tableResource(name: string, layout: object = wellLaidOut) {
  const reference = tableReference(name);
  const { projectId, datasetId, tableId } = reference;
  return {
    kind: 'bigquery#table',
    etag: 'mE+etag==',
    id: `${projectId}:${datasetId}.${tableId}`,
    selfLink: `https://bigquery.googleapis.com/bigquery/v2/projects/${projectId}/datasets/${datasetId}/tables/${tableId}`,
    tableReference: reference,
    creationTime: '1572287796369',
    lastModifiedTime: '1572287796369',
    type: 'TABLE',
    location: 'EU',
    ...layout,
  };
}

const wellLaidOut = {
  timePartitioning: { type: 'DAY', field: 'timestamp' },
  requirePartitionFilter: true,
  clustering: { fields: ['project'] },
};

/** The table that an address of `tables.get` names, `project.dataset.table`. */
export function tableAt(path: string): string {
  const [, project, dataset, table] =
    /projects\/([^/]+)\/datasets\/([^/]+)\/tables\/([^/]+)$/.exec(path) ?? [];
  return [project, dataset, table].map(part => decodeURIComponent(part ?? '')).join('.');
}
