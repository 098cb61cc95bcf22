import type { SetupProblem } from '../base/setup-error.ts';
import type { CatalogTable } from '../googlesql/tree/types.ts';
import type { TableAnswer } from './answers/bigquery-answers.ts';

/** Partition lengths short enough that a bound of hours or days skips some. */
const shortPartitions = ['HOUR', 'DAY'];

/**
 * Advises how a table would cost less: partitions by day on `timestamp`, a required filter on them, clusters by `project`.
 * Only for top-level columns of the source; BigQuery clusters by no others.
 * @param name `project.dataset.table`
 */
export function layoutAdvice(
  table: TableAnswer,
  { name: source, columns }: Pick<CatalogTable, 'name' | 'columns'>,
  name: string,
): SetupProblem[] {
  const advise = (found: string, fix: string) => ({ found: `${source} is ${name}: ${found}`, fix });
  const has = (column: string, type: string) =>
    columns.some(own => own.name === column && own.type.kind === type);
  const isClustered = table.clustering?.fields.includes('project') || !has('project', 'STRING');
  const clusterBy = isClustered ? '' : ' cluster by project';
  const partitions = table.timePartitioning;
  const advice: SetupProblem[] = [];
  if (has('timestamp', 'TIMESTAMP')) {
    const isOnTime = partitions?.field === 'timestamp' && shortPartitions.includes(partitions.type);
    if (!isOnTime) {
      const how = `create table … partition by timestamp_trunc(timestamp, day)${clusterBy} as select * from \`${name}\``;
      const fix = `copy it into a table that is, \`${how}\`, and put that into BIGQUERY_TABLES: else every query scans all of it`;
      return [advise(`it is ${partitionsOf(table)}, not by day on timestamp`, fix)];
    }
    if (!table.requirePartitionFilter && !partitions.requirePartitionFilter) {
      const fix = `\`alter table \`${name}\` set options (require_partition_filter = true)\`: a query without any bound is then refused`;
      advice.push(advise('it does not require a partition filter', fix));
    }
  }
  if (!isClustered) {
    const [project, dataset, id] = splitName(name);
    const fix = `\`bq update --clustering_fields=project ${project}:${dataset}.${id}\`: a query for one project then reads less of each day`;
    advice.push(advise('it is not clustered by project', fix));
  }
  return advice;
}

function partitionsOf({ timePartitioning, rangePartitioning }: TableAnswer): string {
  if (timePartitioning) {
    const { type, field = 'the time of ingestion' } = timePartitioning;
    return `partitioned by ${type.toLowerCase()} on ${field}`;
  }
  return rangePartitioning ? 'partitioned by a range of integers' : 'not partitioned';
}

/** Splits the name of a table. Projects may have dots in their names, datasets and tables have none. */
function splitName(name: string): [project: string, dataset: string, table: string] {
  const parts = name.split('.');
  return [parts.slice(0, -2).join('.'), parts.at(-2)!, parts.at(-1)!];
}
