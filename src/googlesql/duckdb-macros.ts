/** Most elements of a generated array, and most characters of a generated text: BigQuery's own limits. */
const maxElements = 1_048_575;
const maxCharacters = 1_048_576;

/** Name and parameters → the expression; `error` is what fails a query, `null` what a NULL argument answers. */
const macros: Readonly<Record<string, string>> = {
  'bq_divide(a, b)': "a / case when b = 0 then error('division by zero: ' || a || ' / ' || b) else b end",
  'bq_div(a, b)': "case when b = 0 then error('division by zero: ' || a || ' / ' || b) else a // b end",
  'bq_mod(a, b)':
    "case when b = 0 then error('division by zero: MOD(' || a || ', ' || b || ')') else a % b end",
  'bq_int64(x)': String.raw`case when x is null then null when regexp_full_match(x, '\s*[+-]?(\d+|0[xX][0-9a-fA-F]+)\s*') then cast(trim(x) as bigint) else error('Bad int64 value: ' || x) end`,
  'bq_safe_int64(x)': String.raw`case when regexp_full_match(x, '\s*[+-]?(\d+|0[xX][0-9a-fA-F]+)\s*') then try_cast(trim(x) as bigint) end`,
  'bq_bool(x)':
    "case lower(x) when 'true' then true when 'false' then false else case when x is null then null else error('Bad bool value: ' || x) end end",
  'bq_safe_bool(x)': "case lower(x) when 'true' then true when 'false' then false end",
  'bq_fraction(x)':
    "case when epoch_us(x) % 1000000 = 0 then '' when epoch_us(x) % 1000 = 0 then strftime(x, '.%g') else strftime(x, '.%f') end",
  'bq_timestamp_text(x)':
    "strftime(timezone('UTC', x), '%Y-%m-%d %H:%M:%S') || bq_fraction(timezone('UTC', x)) || '+00'",
  'bq_datetime_text(x)': "strftime(x, '%Y-%m-%d %H:%M:%S') || bq_fraction(x)",
  'bq_float_text(x)': String.raw`case when isnan(x) then 'nan' when isinf(x) then (case when x > 0 then 'inf' else '-inf' end) else regexp_replace(cast(x as varchar), '\.0$', '') end`,
  'bq_wire_datetime(x)':
    "strftime(x, '%Y-%m-%dT%H:%M:%S') || case when epoch_us(x) % 1000000 = 0 then '' else strftime(x, '.%f') end",
  'bq_wire_float(x)':
    "case when isnan(x) then to_json('NaN') when isinf(x) then to_json(case when x > 0 then 'Infinity' else '-Infinity' end) else to_json(x) end",
  'bq_wire_numeric(x)': "rtrim(rtrim(cast(x as varchar), '0'), '.')",
  'bq_array_concat(a, b)': 'case when a is null or b is null then null else list_concat(a, b) end',
  'bq_array_to_string(a, s)': 'array_to_string(list_filter(a, lambda e: e is not null), s)',
  'bq_generate_array(a, b, s)': `case when s = 0 then error('Sequence step cannot be 0') when (b - a) // s >= ${maxElements} then error('GENERATE_ARRAY produces too many elements; the limit is ${maxElements}') when (b - a) * sign(s) < 0 then [] else generate_series(a, b, s) end`,
  'bq_generate_timestamps(a, b, s)': `case when b > a + s * ${maxElements} then error('GENERATE_TIMESTAMP_ARRAY produces too many elements; the limit is ${maxElements}') else generate_series(a, b, s) end`,
  'bq_generate_dates(a, b, s)':
    'list_transform(generate_series(cast(a as timestamp), cast(b as timestamp), s), lambda e: cast(e as date))',
  'bq_repeat(x, n)': `case when n < 0 then error('REPEAT count must not be negative') when n * length(x) > ${maxCharacters} then error('REPEAT output is too long') else repeat(x, n) end`,
  'bq_replace(x, a, b)': "case when a = '' then x else replace(x, a, b) end",
  'bq_start(x, n)': 'case when n = 0 or n < -length(x) then 1 else n end',
  'bq_substr(x, n, l)':
    "case when l < 0 then error('SUBSTR length must not be negative') else substr(x, bq_start(x, n), l) end",
  'bq_left(x, n)': "case when n < 0 then error('LEFT length must not be negative') else left(x, n) end",
  'bq_right(x, n)': "case when n < 0 then error('RIGHT length must not be negative') else right(x, n) end",
  'bq_lpad(x, n, p)': `case when n < 0 or n > ${maxCharacters} then error('LPAD length is out of range') else lpad(x, cast(n as integer), p) end`,
  'bq_rpad(x, n, p)': `case when n < 0 or n > ${maxCharacters} then error('RPAD length is out of range') else rpad(x, cast(n as integer), p) end`,
  'bq_regexp_extract(x, p, g)': 'case when regexp_matches(x, p) then regexp_extract(x, p, g) end',
  'bq_json_value(x, p)':
    "case when json_valid(x) then (case when json_type(x, p) in ('OBJECT', 'ARRAY', 'NULL') then null else json_extract_string(x, p) end) end",
  'bq_json_query(x, p)':
    "case when json_valid(x) then (case when json_type(x, p) = 'NULL' then null else cast(json_extract(x, p) as varchar) end) end",
  'bq_json_query_array(x, p)':
    "case when json_valid(x) and json_type(x, p) = 'ARRAY' then list_transform(cast(json_extract(x, p) as json[]), lambda e: cast(e as varchar)) end",
  'bq_json_value_array(x, p)':
    "case when json_valid(x) and json_type(x, p) = 'ARRAY' then list_transform(cast(json_extract(x, p) as json[]), lambda e: json_extract_string(e, '$')) end",
};

/**
 * Statements that create the TEMP macros that printed SQL calls; run them in order, once per connection.
 * The database may be open read-only: temporary macros belong to the connection.
 */
export const duckDbMacros: readonly string[] = Object.entries(macros).map(
  ([signature, body]) => `create or replace temp macro ${signature} as (${body})`,
);
