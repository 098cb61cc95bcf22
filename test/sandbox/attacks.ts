/** Statements that try the same thing, each of which must be refused. */
export type AttackGroup = {
  readonly idea: string;
  /** The only code that will do; without one, `invalid_query` and `sandbox_refused` both refuse. */
  readonly code?: 'sandbox_refused';
  readonly statements: readonly string[];
};

const foreign = '`postgres.logs`';

/** A table wherever the grammar takes one. */
const positions = (table: string): readonly string[] => [
  `select * from ${table}`,
  `select 1 from edge_logs, ${table}`,
  `select 1 from edge_logs cross join ${table}`,
  `select 1 from edge_logs join ${table} on true`,
  `select 1 from edge_logs e left join ${table} p using (id)`,
  `select 1 from edge_logs e full join ${table} p on e.id = p.id`,
  `select 1 from ${table} p right join edge_logs e on e.id = p.id`,
  `select 1 from (edge_logs cross join ${table})`,
  `select 1 from edge_logs a join (edge_logs b join (edge_logs c cross join ${table}) on true) on true`,
  `select 1 from ((${table} cross join edge_logs))`,
  `select 1 from (select 1 from ${table})`,
  `select 1 from ((select 1 from ${table}))`,
  `select 1 from edge_logs, unnest(metadata) m, ${table}`,
  `select 1 from edge_logs e, (select e.id from ${table})`,
  `select (select max(id) from ${table})`,
  `select struct((select max(id) from ${table}) as x)`,
  `select [(select max(id) from ${table})]`,
  `select case when exists (select 1 from ${table}) then 1 end from edge_logs`,
  `select coalesce(id, (select max(id) from ${table})) from edge_logs`,
  `select array(select id from ${table})`,
  `select array(select as struct * from ${table})`,
  `select exists (select 1 from ${table})`,
  `select id in (select id from ${table}) from edge_logs`,
  `select id in unnest(array(select id from ${table})) from edge_logs`,
  `select id from edge_logs where id not in (select id from ${table})`,
  `select id from edge_logs where not exists (select 1 from ${table} p where p.id = edge_logs.id)`,
  `select id from edge_logs where id like (select max(id) from ${table})`,
  `select id from edge_logs where id between 'a' and (select max(id) from ${table})`,
  `select 1 from unnest(array(select id from ${table}))`,
  `select 1 from edge_logs, unnest(array(select id from ${table} p where p.id = edge_logs.id))`,
  `select 1 from edge_logs a join edge_logs b on a.id = (select max(id) from ${table})`,
  `select count(*) from edge_logs group by (select max(id) from ${table})`,
  `select id from edge_logs group by id having count(*) > (select count(*) from ${table})`,
  `select id from edge_logs qualify row_number() over (order by id) > (select count(*) from ${table})`,
  `select id from edge_logs order by (select count(*) from ${table})`,
  `select id from edge_logs limit (select count(*) from ${table})`,
  `select id from edge_logs limit 1 offset (select count(*) from ${table})`,
  `select row_number() over (partition by (select max(id) from ${table})) from edge_logs`,
  `select sum(1) over w from edge_logs window w as (order by (select max(id) from ${table}))`,
  `select array_agg(id order by (select max(id) from ${table})) from edge_logs`,
  `select max((select max(p.id) from ${table} p)) from edge_logs`,
  `select * replace ((select max(id) from ${table}) as id) from edge_logs`,
  `select metadata[offset((select count(*) from ${table}))] from edge_logs`,
  `select extract(year from (select max(timestamp) from ${table}))`,
  `select cast((select max(id) from ${table}) as string)`,
  `select safe.substr((select max(id) from ${table}), 1)`,
  `select id from edge_logs union all select id from ${table}`,
  `select id from edge_logs union distinct (select id from ${table})`,
  `(select id from ${table}) intersect distinct select id from edge_logs`,
  `select id from edge_logs except distinct (select id from (select id from ${table}))`,
  `select id from edge_logs intersect all select id from ${table}`,
  `select id from edge_logs full outer union all by name select id, event_message from ${table}`,
  `select id from edge_logs union all corresponding by (id) (select * from ${table})`,
  `select id from edge_logs left except all by name on (id) select id from edge_logs, ${table}`,
  `from ${table}`,
  `from edge_logs, ${table}`,
  `from edge_logs |> join ${table} on true`,
  `from edge_logs |> left join (from ${table} |> select id) as t using (id)`,
  `from edge_logs |> cross join unnest(array(from ${table} |> select id)) as x`,
  `from edge_logs |> union all (from ${table})`,
  `from edge_logs |> select id |> except distinct (select id from edge_logs), (select id from ${table})`,
  `from edge_logs |> where exists (from ${table})`,
  `from edge_logs |> extend (select max(id) from ${table}) as x`,
  `from edge_logs |> set id = (select max(id) from ${table})`,
  `from edge_logs |> aggregate count(*) as n group by (select max(id) from ${table})`,
  `from edge_logs |> aggregate max((select max(id) from ${table})) as n`,
  `from edge_logs |> order by (select max(id) from ${table})`,
  `from edge_logs |> as postgres |> where exists (from ${table})`,
  `with a as (from ${table}) from a`,
  `select id from edge_logs |> select array(from ${table} |> select id) as x |> drop x`,
  `select count(*) as n from edge_logs group by rollup((select max(id) from ${table}))`,
  `select count(*) as n from edge_logs group by grouping sets (id, cube(exists (select 1 from ${table})), ())`,
  `select id, grouping((select max(id) from ${table})) from edge_logs group by rollup(id)`,
  `with a as (select * from ${table}) select * from a`,
  `with a as (select 1 as x), b as (select * from a, ${table}) select * from b`,
  `with a as (with b as (with c as (select * from ${table}) select * from c) select * from b) select * from a`,
  `with a as (select 1 as x union all select 1 from ${table}) select * from a`,
  `with never_read as (select * from ${table}) select id from edge_logs`,
  `select (with a as (select id from ${table}) select max(id) from a)`,
  `with edge_logs as (select * from ${table}) select * from edge_logs`,
  `select 1 from edge_logs where false and exists (select 1 from ${table})`,
];

/** Every way to write a table that the saved query does not offer. */
const spellings = [
  'postgres.logs', 'postgres . logs', '`postgres`.`logs`', '`postgres`.logs', 'postgres.`logs`', '`postgres`  .  `logs`',
  'postgres/**/./**/logs', 'postgres -- x\n.logs', '`Postgres.Logs`', 'POSTGRES.LOGS', 'cloudflare.logs.prod',
  '`cloudflare`.`logs`.`prod`', '`cloudflare.logs`.prod', '`cloudflare`.`logs.prod`', '`cloudflare.logs.prod`',
  'deno-relay-logs', '`deno-relay-logs`', 'deno-subhosting-events', '`storage.logs.prod.2`', 'storage.logs.prod.2',
  '`project.dataset.postgres.logs`', 'project.dataset.table', '`my-project`.dataset.`postgres.logs`',
  'my-project.dataset.logs', '`my-project.dataset`.logs', 'my-project:dataset.logs', '[my-project:dataset.logs]',
  'main.`postgres.logs`', '`main`.`postgres.logs`', 'memory.main.`postgres.logs`', 'logs.main.`postgres.logs`',
  '"postgres.logs"', "'postgres.logs'", '"main"."postgres.logs"', '`"postgres.logs"`', "`'postgres.logs'`",
  '`\\x70ostgres.logs`', '`\\u0070ostgres.logs`', '`\\160ostgres.logs`', '`postgres\\.logs`', '`postgres.logs\\u0000`',
  '`postgres.logs `', '` postgres.logs`', '`postgres.logs\u200b`', '`рostgres.logs`', 'ｐostgres.logs',
  '`postgres․logs`', '`postgres.logs"`', '`x" , "postgres.logs`', '`edge_logs" cross join "postgres.logs`',
  '`edge_logs; select 1`', '`edge_logs --`', '`edge_logs/*`', 'edge_logs.edge_logs', 'postgres_logs.logs',
  'edge_logs_', 'w1', 'w9', 'r1', '_p', 'pg_catalog.pg_tables', '`pg_catalog`.`pg_class`', 'sqlite_master', 'sqlite_schema',
  'temp.sqlite_master', 'duckdb_tables', 'information_schema.tables', 'INFORMATION_SCHEMA.COLUMNS',
  'region-us.INFORMATION_SCHEMA.JOBS', '`region-us`.INFORMATION_SCHEMA.JOBS_BY_PROJECT', 'dataset.__TABLES__',
  '`dataset.__TABLES_SUMMARY__`', '`/etc/passwd`', '`file.csv`', "'/etc/passwd'", '`data/*.parquet`',
  '`https://example.com/a.parquet`', '`s3://bucket/a.csv`', '`postgres.logs$20260101`', '`postgres.logs@-3600000`',
]; // biome-ignore format: a word list

/** A place for each spelling: the shallow one, a join, and one that is deep. */
const spelled = spellings.flatMap(table => [
  `select 1 from ${table}`,
  `select id from edge_logs where exists (select 1 from edge_logs a join ${table} b on true)`,
]);

const tableFunctions = [
  "read_text('/etc/passwd')", "read_blob('/etc/passwd')", "read_csv('/etc/passwd')", "read_csv_auto('a.csv')",
  "read_json('a.json')", "read_json_auto('a.json')", "read_ndjson('a')", "read_parquet('a.parquet')", "parquet_scan('a')",
  "parquet_metadata('a')", "sniff_csv('a')", "glob('/**')", 'duckdb_tables()', 'duckdb_columns()', 'duckdb_settings()',
  'duckdb_secrets()', 'duckdb_functions()', 'duckdb_databases()', 'duckdb_views()', 'duckdb_temporary_files()',
  'duckdb_memory()', "pragma_table_info('postgres.logs')", 'pragma_version()', 'pragma_database_size()',
  "pragma_storage_info('postgres.logs')", "query('select 1')", "query_table('postgres.logs')",
  "query_table(['postgres.logs'])", "seq_scan('postgres.logs')", 'generate_series(1, 10)', 'repeat(1, 2)',
  "json_execute_serialized_sql('{}')", "from_substrait('x')", 'checkpoint()', 'force_checkpoint()', 'which_secret()',
  "iceberg_scan('x')", "postgres_scan('x', 'y', 'z')", "sqlite_scan('a', 'b')", "read_duckdb('x')", 'test_all_types()',
  'summary(edge_logs)', 'icu_calendar_names()', 'pg_timezone_names()', "external_query('connection', 'select 1')",
  "EXTERNAL_QUERY('p.us.c', 'select * from t')", 'ml.predict(model m, table edge_logs)', 'ML.FORECAST(MODEL `d.m`)',
  "appends(table `postgres.logs`)", 'dataset.my_table_function(1)', '`project.dataset.tvf`(1)', 'table(edge_logs)',
  "vector_search(table t, 'x', (select 1))", 'range_sessionize(table edge_logs, "a", ["b"])', 'gap_fill(table edge_logs)',
]; // biome-ignore format: a word list

const foreignFunctions = [
  'session_user()', 'SESSION_USER()', 'safe.session_user()', 'current_user()', "external_query('c', 'select 1')",
  'dataset.my_function(id)', 'project.dataset.my_function(id)', '`project.dataset.my_function`(id)', '`dataset`.f(id)',
  "ml.predict(id)", "ai.generate('x')", "keys.new_keyset('AEAD_AES_GCM_256')", "aead.encrypt(b'', 'x', '')",
  'net.host(id)', 'hll_count.init(id)', 'safe.safe.lower(id)', 'main.lower(id)', 'system.main.lower(id)',
  'pg_catalog.current_user()', '`main`.`read_text`(id)',
]; // biome-ignore format: a word list

const unknownFunctions = [
  "getenv('PATH')", "current_setting('home_directory')", "getvariable('x')", "read_text('/etc/passwd')", "glob('*')",
  'current_database()', 'current_schema()', 'current_schemas(true)', 'current_catalog()', 'version()', 'pg_typeof(id)',
  "nextval('s')", 'txid_current()', 'pg_backend_pid()', 'current_query()', "json_execute_serialized_sql('{}')",
  "json_serialize_sql('select 1')", "columns('.*')", 'bq_int64(id)', "bq_generate_array(1, 10, 1)", 'bq_float_text(1.0)',
  'bq_wire_float(1.0)', "error('x')", 'typeof(id)', 'stats(id)', 'list_transform(metadata, lambda x: x)', 'unnest(metadata)',
  'struct_pack(a := 1)', 'write_log(id)', 'getbit(id, 1)', 'sleep_ms(1)', 'in_search_path(id, id)', 'icu_sort_key(id, id)',
  'set_bit(id, 1, 1)', 'constant_or_null(1, 2)', 'enum_range(id)', 'to_json(id)', "from_json(id, '1')", "equi_width_bins(1, 2, 3, true)",
]; // biome-ignore format: a word list

const statements = [
  'drop table edge_logs', 'create table a (x int64)', 'create temp table a as select 1', 'create or replace view v as select 1',
  'create temp function f(x int64) as (x); select f(1)', 'create temp function f() returns string language js as "1"; select f()',
  'create procedure p() begin select 1; end', 'create model m as select 1', 'create external table t options (uris = ["x"])',
  'create schema s', 'create snapshot table a clone b', 'alter table a add column b int64', 'alter project p set options ()',
  'insert into a values (1)', "insert `postgres.logs` select * from edge_logs", 'update a set b = 1 where true',
  'delete from edge_logs where true', 'delete edge_logs where true', 'merge into a using b on true when matched then delete',
  'truncate table a', 'grant `roles/x` on schema a to "user"', 'revoke `roles/x` on schema a from "user"', 'call p()',
  'call system.p()', 'execute immediate "select 1"', 'execute immediate concat("sel", "ect 1")',
  'export data options (uri = "gs://x") as select * from edge_logs', 'load data into a from files (uris = ["x"])',
  'export model m', 'begin select 1; end', 'begin transaction', 'commit transaction', 'rollback transaction',
  'declare x int64 default 1; select x', 'set x = 1', 'set @@time_zone = "UTC"', 'assert true', 'assert exists (select 1)',
  'if true then select 1; end if', 'loop select 1; end loop', 'while true do select 1; end while', 'repeat select 1; until true end repeat',
  'for r in (select 1) do select 1; end for', 'raise using message = "x"', 'return', 'copy edge_logs to "a.csv"',
  'attach "x.db" as y', 'detach y', 'install httpfs', 'load httpfs', 'pragma database_list', 'explain select 1',
  'explain analyze select 1', 'describe edge_logs', 'show tables', 'show all tables', 'use memory', 'summarize edge_logs',
  'values (1)', 'table edge_logs', 'pivot edge_logs on id', 'vacuum', 'checkpoint', 'prepare s as select 1', 'reset all',
  'import database "x"', 'analyze', 'with a as (select 1) delete from a where true', 'with a as (select 1) insert into t select 1',
  'with a as (insert into t select 1) select 1', 'with a as (delete from t returning *) select * from a',
  '/* a */ drop table a', '-- a\ndrop table a', '# a\rdrop table a',
]; // biome-ignore format: a word list

const second = [
  'select 1; select 2', 'select 1;select 2', 'select 1 ; ; select 2', 'select 1;;', 'select 1;\n\nselect 2', 'select 1; -- x\nselect 2',
  'select 1; # x\rselect 2', 'select 1; /* x */ drop table a', "select ';'; select 2", 'select 1;\u00a0select 2',
  'select 1; with a as (select 1) select * from a', 'select 1; (select 2)', 'select 1; @@x', 'select 1; x', 'select 1;\fselect 2',
]; // biome-ignore format: a word list

const systemVariables = [
  'select @@project_id', 'select @@session_id', 'select @@script.job_id', 'select @@dataset_id', 'select @@error.message',
  'select id from edge_logs where id = @@project_id', 'select @@time_zone from edge_logs', 'select @@row_count',
]; // biome-ignore format: a word list

const undeclared = [
  'select @nope', 'select @`no pe`', 'select @Project_', 'select @p1', 'select @now', 'select $1', 'select $p1', 'select $now', 'select ?',
  'select ?1', 'select :project', 'select @1', 'select @', 'select {project}', 'select id from edge_logs limit @project',
  'select id from @project', 'select id from edge_logs order by id limit ?',
]; // biome-ignore format: a word list

const foreignSyntax = [
  'from edge_logs select id', 'from edge_logs |> call dataset.f()', 'from edge_logs |> select id from postgres_logs', 'edge_logs |> limit 1',
  'from edge_logs |> create table t', 'from edge_logs |> insert into postgres_logs', 'from edge_logs |> export data options (uri="gs://a/*")',
  'from edge_logs |> tee ()', 'from edge_logs |> fork ()', 'from edge_logs |> log', 'from edge_logs |> describe',
  "select id::regclass from edge_logs", "select 'postgres.logs'::regclass", "select 'x'::oid", "select cast('x' as regclass)",
  'select columns(*) from edge_logs', "select columns('id') from edge_logs", 'select * columns(*) from edge_logs',
  'select metadata.* from edge_logs', 'select id.* from edge_logs', 'select * exclude (id) from edge_logs', 'select * like "i%" from edge_logs',
  'select * rename (id as x) from edge_logs', 'select [x for x in [1, 2, 3]]', 'select [x for x in [1] if x > 0]',
  'select list_transform([1], x -> x + 1)', 'select list_transform([1], lambda x: x + 1)', 'select x -> x', 
  'select 1 from edge_logs a asof join edge_logs b on a.timestamp >= b.timestamp', 
   'select 1 from edge_logs natural join postgres_logs', 'select 1 from edge_logs, lateral (select 1)',
  'select 1 from edge_logs pivot (count(*) for id in ("a"))', 'pivot_wider edge_logs', 'select 1 from edge_logs unpivot (a for b in (id))',
  'select 1 from edge_logs using sample 1', 'select 1 from edge_logs tablesample system (1 percent)', 'select 1 from edge_logs tablesample reservoir(1)',
  'select 1 from (values (1))', 'select 1 from (describe edge_logs)', 'select 1 from (summarize edge_logs)', 'select 1 from (from edge_logs select id)',
  'select 1 from (show tables)', 'select 1 from (pivot edge_logs on id)', 'select 1 from (table edge_logs)', 'with a as (from edge_logs limit 1) select * from a',
  'with recursive a as (select 1 as x union all select x + 1 from a) select * from a', 'with recursive a as (select * from a) select 1',
  'with a(x) as (select 1) select * from a', 'with a as materialized (select 1) select * from a', 'with a using key (x) as (select 1) select 1',
  'select id into t from edge_logs', 'select id from edge_logs for update', 'select id from edge_logs at (version => 1)', 'select top 1 id from edge_logs',
  'select distinct on (id) id from edge_logs', 'select id from edge_logs fetch first 1 rows only', 'select id from edge_logs limit 10%', 'select id from edge_logs limit all',
  'select id from edge_logs group by rollup id', 'select id from edge_logs group by id with rollup',
  "select {'a': 1}", "select map {'a': 1}", 'select a := 1', 'select #1 from edge_logs', "select e'\\n'", "select x'00'", "select u&'a'", 'select $$a$$', 'select $a$b$a$',
  "select 1 where 'a' ~ 'b'", "select 'a' ~~ 'b'", "select 'a' similar to 'b'", "select 'a' glob 'b'", "select 'a' ilike 'b'", 'select 1 // 2', 'select 2 ** 3',
  'select 1 !~ 2', 'select id collate nocase from edge_logs', "select interval '1 day' '2'", "select timestamp 'x' at time zone 'y'", 'select row(1, 2)', 'select (1).a',
  'select rowid from edge_logs', 'select edge_logs.rowid from edge_logs', 'select project from edge_logs', 'select _p from edge_logs', 'select metadata._p from edge_logs',
  'select m._p from edge_logs, unnest(metadata) m', 'select _table_suffix from edge_logs', 'select _partitiontime from edge_logs', 'select c0 from edge_logs', 'select r1.c0 from edge_logs',
  'select filename from edge_logs', 'select file_row_number from edge_logs', 'select "id" from "edge_logs"', 'select cast(id as varchar(10)) from edge_logs',
  'select try_cast(id as int) from edge_logs', 'select cast(1 as hugeint)', 'select cast(1 as union(a int))', 'select 1::json[]', 'select 1::struct(a int)',
]; // biome-ignore format: a word list

const shadows = [
  `with \`postgres.logs\` as (select * from ${foreign}) select * from \`postgres.logs\``,
  'with `postgres.logs` as (select * from edge_logs) select * from postgres.logs',
  'with postgres_logs as (select * from `postgres.logs`) select * from postgres_logs',
  'with postgres as (select 1 as x) select * from postgres.logs',
  'with `x70ostgres.logs` as (select 1 as x) select * from `\\x70ostgres.logs`',
  'with `\u212a` as (select 1 as x) select * from k',
  'with a as (with `postgres.logs` as (select 1 as x) select 1 as x) select * from `postgres.logs`',
  'select (with `postgres.logs` as (select 1 as x) select x from `postgres.logs`) from `postgres.logs`',
  'select * from `postgres.logs`, (with `postgres.logs` as (select 1 as x) select x from `postgres.logs`)',
  'select 1 from (with p as (select 1 as x) select x from p), p',
  'with a as (select * from b), b as (select 1 as x) select * from a',
  'with a as (select * from a) select * from a',
  'with a as (select 1 as x), a as (select 2 as x) select * from a',
  'with edge_logs as (select * from edge_logs), b as (select * from `cloudflare.logs.prod`) select * from b',
  '(with c as (select 1 as x) select * from c) union all select * from c',
  'select (with c as (select 1 from postgres.logs) select 1 from c) from (select struct([1] as logs) as postgres)',
  'select struct([1] as logs) as postgres, id from edge_logs group by (select count(*) from postgres.logs), id',
  'select struct([1] as logs) as postgres, id from edge_logs group by 1 in (select 1 from postgres.logs), id',
  'select * from (select struct([1] as logs) as postgres) cross join (select * from postgres.logs)',
  'select struct([1] as logs) as postgres, (select count(*) from postgres.logs)',
  'select struct([1] as logs) as postgres from edge_logs where exists (select 1 from postgres.logs)',
  'select 1 from (select struct([1] as logs) as `\u212a`), k.logs',
]; // biome-ignore format: a word list

const wildcards = [
  'select * from postgres.*', 'select * from postgres.logs_*', 'select * from `postgres.*`', 'select * from `postgres.log*`', 'select * from `*`',
  'select * from edge_logs for system_time as of current_timestamp()', 'select * from edge_logs e for system_time as of timestamp "2020-01-01"',
  'select * from `postgres.logs` for system_time as of current_timestamp()',
]; // biome-ignore format: a word list

const broken = [
  '', ' ', ';', '--', '/* */', '/*', '/* /* */', '*/', "select 'a", 'select "a', 'select `a', "select '''a''", 'select """a', "select r'\\'", "select 'a\n'", "select '\\",
  "select '\\q'", "select '\\x0'", "select '\\ud800'", "select '\\U00110000'", "select b'\\u0041'", 'select ``', 'select `a\nb`', 'select `\\`', 'select `\\0`', 'select `a\\000b`', 'select `a\0b` from edge_logs',
  'select \0 1', 'select 1\0; drop table a', '\0select 1', 'sеlect 1', 'select 1 frоm edge_logs', 'select id from еdge_logs', 'select id from edge＿logs', 'select id\u200b from edge_logs', '\u202eselect 1',
  'select “id” from edge_logs', "select 'a' 'b'", "select 'a''' union all select id from `postgres.logs` --'", 
  "select '''\\''' from edge_logs", "select id from edge_logs where id = ''' or true --", 'select id from edge_logs -- \r union all select id from `postgres.logs`',
  'select id from edge_logs # \r union all select id from `postgres.logs`', 'select 1 /* /* */ from `postgres.logs` */', 'select 1 -- /* \n from `postgres.logs` -- */',
  "select r'\\' , id from `postgres.logs` where '' = '", 'select 1 @{hint=1} from edge_logs', '@{a=1} select 1', 'select 1 from edge_logs @{force_index=x}', 'select 0x', 'select 1e', 'select 1a', 'select .', 'select (', 'select )', 'select 1)',
  'select 1) from (select 2', 'select 1) union all (select 2', 'select id from edge_logs) select id from (select id from edge_logs', ')', '(select 1', 'select * from *', 'select 1 from (delete from t returning *)', 'select 1 from edge_logs where (', 'select case', 'select array<', 'select struct<a', 'select *, from', 'select from edge_logs',
]; // biome-ignore format: a word list

/** The attacks, by idea. */
export const attacks: readonly AttackGroup[] = [
  { idea: 'a table in every position', statements: positions(foreign) },
  { idea: 'a dotted table in every position', statements: positions('project.dataset.logs') },
  { idea: 'every spelling of a foreign table', statements: spelled },
  { idea: 'names that hide what they open', statements: shadows },
  {
    idea: 'table functions, files and catalogues',
    code: 'sandbox_refused',
    statements: tableFunctions.flatMap(call => [
      `select * from ${call}`,
      `select 1 from edge_logs join ${call} on true`,
    ]),
  },
  {
    idea: 'functions of the session, of users, of models',
    code: 'sandbox_refused',
    statements: foreignFunctions.map(call => `select ${call} from edge_logs`),
  },
  {
    idea: 'functions of the engine and of ours',
    statements: unknownFunctions.map(call => `select id from edge_logs where ${call} is not null`),
  },
  { idea: 'anything but a query', code: 'sandbox_refused', statements },
  { idea: 'more than one statement', code: 'sandbox_refused', statements: second },
  { idea: 'system variables', code: 'sandbox_refused', statements: systemVariables },
  { idea: 'wildcard tables and time travel', code: 'sandbox_refused', statements: wildcards },
  { idea: 'parameters that nobody declared', statements: undeclared },
  { idea: "another dialect's syntax", statements: foreignSyntax },
  { idea: 'broken text and look-alikes', statements: broken },
];

/** What looks like an attack and is none: it must be answered. */
export const innocents: readonly string[] = [
  "select 'postgres.logs' as x",
  "select id from edge_logs where event_message = 'select * from `postgres.logs`; drop table x --'",
  "select '''\n; drop table `postgres.logs` /* ''' as x",
  "select r'\\' ; --' as x",
  'select "read_text(\'/etc/passwd\')" as x',
  'select 1 as postgres_logs',
  'select id as `postgres.logs` from edge_logs',
  'select `postgres.logs`.id from edge_logs as `postgres.logs`',
  'with `postgres.logs` as (select id from edge_logs) select id from `postgres.logs`',
  'with postgres_logs as (select id from edge_logs) select id from postgres_logs',
  'with edge_logs as (select id from edge_logs) select id from edge_logs',
  'select id from edge_logs -- from `postgres.logs`',
  'select id /* ; drop table x */ from edge_logs # ; select 2',
  'select id from edge_logs;',
  'select id from edge_logs; -- done',
  'select p.id from postgres_logs as p join edge_logs as e on e.id = p.id',
  'SELECT ID FROM EDGE_LOGS',
  'select id from `edge_logs`',
  'select id from `\\x65dge_logs`',
  'select m.project_ref from function_logs as f, f.metadata as m',
  'select id, (select count(*) from e.metadata) as n from edge_logs as e',
  'select e as `"; drop table x; --` from edge_logs as e',
  'select struct(1 as `a\'b"c`) as x',
  'select @project as project, @PROJECT as again',
  'select struct([1] as logs) as postgres from edge_logs order by (select count(*) from postgres.logs)',
  'select current_timestamp() as session_user',
  'select 1 from edge_logs anti join edge_logs b using (id)',
  "select id from edge_logs where id = 'it\\' union all select id from `postgres.logs` -- '",
];
