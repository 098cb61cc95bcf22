import { plainTemporalPatterns } from '../times/read-temporal.ts';
import { maxElements, maxOutputLength } from '../values/engine-function.ts';
import { intervalMacros, rangeMacros } from './times/interval-macros.ts';

/** Letters whose upper case is several letters; DuckDB maps letter by letter. */
const longUpper = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
  .filter(letter => letter !== 'ß' && letter.toUpperCase().length > 1)
  .join('');

/**
 * Macros that read texts as dates and times: by DuckDB's own cast if it reads the text as BigQuery does, otherwise in the engine process.
 */
function temporalMacros(kind: string, type: string): Readonly<Record<string, string>> {
  const name = kind.toLowerCase();
  const pattern = plainTemporalPatterns[kind];
  // An offset may lead out of the first year and the last.
  const isInside = kind === 'TIMESTAMP' ? "left(x, 4) not in ('0001', '9999') and " : '';
  const plain = `case when ${isInside}regexp_full_match(x, '${pattern}') then try_cast(x as ${type}) end`;
  const read = (text: string) => (kind === 'TIMESTAMP' ? `bq_zoned(${text})` : `cast(${text} as ${type})`);
  return {
    [`bq_${name}(x)`]: `coalesce(${plain}, ${read(`bq_read_temporal(x, '${kind}')`)})`,
    [`bq_safe_${name}(x)`]: `coalesce(${plain}, ${read(`bq_safe_read_temporal(x, '${kind}')`)})`,
  };
}

/** Texts that BigQuery and DuckDB read as the same FLOAT64. */
const floatText = String.raw`(?i)[\s\v]*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)[\s\v]*`;

/**
 * CAST and SAFE_CAST of what JSON_VALUE finds, see `bq_json_scalar`: numbers in JSON and strings that are numbers here, anything else in
 * the engine process. Few expressions: DuckDB plans each in 0.05 ms.
 */
function jsonNumber(kind: string, type: string, isNumber: string, text: string) {
  const read = (safe: string) => `${safe}_read_${kind}(bq_read_json_value(x, steps))`;
  const ofText = `try_cast(substr(e, 2, length(e) - 2) as ${type})`;
  // A string with none of these characters is a number by this pattern, or no number.
  const safeText = String.raw`when regexp_full_match(e, '"[^\\xX(]*"') then try_cast(regexp_extract(e, '^"${text}"$', 1) as ${type})`;
  return {
    [`bq_json_text_${kind}(e, x, steps)`]: `case when ${isNumber} then try_cast(e as ${type}) when regexp_full_match(e, '"${text}"') then ${ofText} when e <> 'null' then ${read('bq')} end`,
    [`bq_safe_json_text_${kind}(e, x, steps)`]: `case when ${isNumber} then try_cast(e as ${type}) ${safeText} when e <> 'null' then ${read('bq_safe')} end`,
  };
}

/** Starts the message of a failure in printed SQL, so that DuckDB's words around it can be removed. */
export const failureMark = '! ';

/** Signature → expression. `bq_fail` fails the query; a NULL argument gives NULL. */
const macros: Readonly<Record<string, string>> = {
  // Not DuckDB's `error`, which counts as volatile: an expression with it is never shared by two places, and TRY refuses it.
  'bq_fail(message)': `cast('${failureMark}' || message as integer)`,
  'bq_fail_text(message)': 'cast(bq_fail(message) as varchar)',
  // The value itself, which DuckDB takes for one that changes from row to row.
  'bq_varying(x)': 'case when random() >= 0 then x end',
  // Rounds down; DuckDB's division of integers rounds towards zero.
  'bq_whole(a, n)': '(a - (a % n + n) % n) // n',
  'bq_make_time(h, m, s)':
    "case when h not between 0 and 23 or m not between 0 and 59 or s not between 0 and 60 then bq_fail_text('Input calculates to invalid time: ' || h || ':' || m || ':' || s)::time else time '00:00:00' + to_microseconds(((h * 60 + m) * 60 + s) * 1000000) end",
  'bq_time_trunc(t, n)':
    "time '00:00:00' + to_microseconds(date_diff('microsecond', time '00:00:00', t) // n * n)",
  'bq_bucket(x, n, w, o)':
    "case when n <= 0 then cast(bq_fail_text('The width of a bucket must be positive') as date) else time_bucket(w, x, o) end",
  'bq_hour(n)': "case when n = 24 then bq_fail('The hour must be between 0 and 23') else n end",
  'bq_divide(a, b)': "a / case when b = 0 then bq_fail('division by zero: ' || a || ' / ' || b) else b end",
  'bq_div(a, b)': "case when b = 0 then bq_fail('division by zero: ' || a || ' / ' || b) else a // b end",
  'bq_mod(a, b)':
    "case when b = 0 then bq_fail('division by zero: MOD(' || a || ', ' || b || ')') when b = -1 and a is not null then 0 else a % b end",
  // `finite`: whether the operands are.
  'bq_finite(x, finite)':
    "case when x is null or isfinite(x) then x when finite then bq_fail('Floating point overflow') else x end",
  'bq_finite_long(x)':
    "case when x is null or isfinite(x) then x else bq_fail('Floating point overflow; NaN and infinity in a calculation of more than 100 operators are not supported') end",
  // A sum of finite values must be finite.
  'bq_checked_sum(x, finite)':
    "case when isfinite(x) or not finite then x when x is not null then bq_fail('Floating point overflow; a sum that leaves FLOAT64 on the way is not supported') end",
  // With infinity among the values, BigQuery answers infinity or NaN, depending on the order of rows.
  'bq_average(x, nan)':
    "case when x is null or isfinite(x) or nan then x else bq_fail('Floating point overflow; an average that leaves FLOAT64 on the way is not supported') end",
  // DuckDB's own rounding where it gives the same last digit as BigQuery's, which has 64 bits: for few places of a moderate number. A
  // product that only seems to be a half must be rounded down; the exact digits of the FLOAT64 decide.
  'bq_round(x, n)':
    "case when n between 0 and 4 and abs(x) < 450359962737 then case when n > 0 and abs(x * pow(10, n) - trunc(x * pow(10, n))) = 0.5 and substr(split_part(printf('%.40f', x), '.', 2), n + 1, 1) < '5' then trunc(x * pow(10, n)) / pow(10, n) else round(x, bq_few(n)) end when n between -15 and -1 and x = trunc(x) and abs(x) < 4503599627370496 then round(x, bq_few(n)) else bq_float_round(x, n) end",
  'bq_few(n)': 'cast(least(greatest(n, -15), 15) as integer)',
  // To n places, p being ten to the n, unless the product or the quotient is so close to the middle of two results that the number of bits
  // in the calculation matters. `k / p` is the nearest FLOAT64, and its error is known: its upper half, a FLOAT of 24 bits, has an exact
  // product with p for n up to 12.
  'bq_is_sure(k, p)':
    'abs((k - cast(cast(k / p as float) as double) * p) - (k / p - cast(cast(k / p as float) as double)) * p) < 0.49 * p * (abs(k / p) - nextafter(abs(k / p), 0::double)) or k = 0',
  'bq_round_to(x, p, n)':
    'case when abs(x * p) < 2e15 and abs(abs(x * p - trunc(x * p)) - 0.5) > abs(x * p) * 3e-16 and bq_is_sure(round(x * p), p) then round(x * p) / p else bq_float_round(x, n) end',
  'bq_trunc_to(x, p, n)':
    'case when abs(x * p) < 2e15 and abs(x * p - round(x * p)) > abs(x * p) * 3e-16 and bq_is_sure(trunc(x * p), p) then trunc(x * p) / p else bq_float_trunc(x, n) end',
  // NaN for minus infinity; other negative numbers fail.
  'bq_ln(x)': "case when x = '-infinity' then cast('nan' as double) else ln(x) end",
  'bq_log10(x)': "case when x = '-infinity' then cast('nan' as double) else log10(x) end",
  'bq_log(x, b)':
    "case when x is null then null when not isfinite(b) or (b <= 0 and not isfinite(x)) then cast('nan' as double) when b = 1 and not isfinite(x) then case when x > 0 then x else cast('nan' as double) end when b = 1 then bq_fail('Floating point error in function: LOG(' || x || ', ' || b || ')') else bq_ln(x) / bq_ln(b) end",
  'bq_exp(x)':
    "case when isfinite(exp(x)) or not isfinite(x) then exp(x) else bq_fail('Floating point error in function: EXP(' || x || ')') end",
  'bq_pow(x, y)':
    "case when isfinite(pow(x, y)) or not isfinite(x) or not isfinite(y) then pow(x, y) else bq_fail('Floating point error in function: POW(' || x || ', ' || y || ')') end",
  'bq_sign(x)': 'case when isnan(x) then x else sign(x) end',
  // DuckDB would multiply by 10^9 in FLOAT64; a whole number stays exact.
  'bq_numeric(x)':
    'cast(cast(trunc(x) as hugeint) as decimal(38, 9)) + bq_fraction_numeric(cast(x - trunc(x) as double))',
  'bq_safe_numeric(x)':
    'try_cast(try_cast(trunc(x) as hugeint) as decimal(38, 9)) + bq_fraction_numeric(try_cast(x - trunc(x) as double))',
  // What seems to be a half of the last digit may be a little less.
  'bq_fraction_numeric(f)':
    'case when abs(f * 1e9 - trunc(f * 1e9)) = 0.5 then bq_nearest_numeric(f) else try_cast(f as decimal(38, 9)) end',
  // Beyond 2^53 billionths DuckDB rounds twice.
  'bq_float_of_numeric(x)':
    'case when abs(x) < 9007199 then cast(x as double) else cast(cast(x as varchar) as double) end',
  // From the sums of whole parts and of fractions: 128 bits can't hold the sum of two NUMERIC as they are stored.
  'bq_numeric_sum(w, f)':
    'case when abs(w) < 10000000000000000000000000000::hugeint then cast(w as decimal(38, 9)) + cast(f as decimal(38, 9)) when w is not null then bq_numeric_total(cast(w as varchar), f) end',
  // A NUMERIC as a whole number of billionths, with room beyond its 38 digits.
  'bq_billionths(x)': 'cast(trunc(x) as hugeint) * 1000000000 + cast((x - trunc(x)) * 1000000000 as hugeint)',
  // DuckDB's own product has 18 digits after the point, and so only 20 before it.
  'bq_numeric_product(a, b)': 'coalesce(try(cast(a * b as decimal(38, 9))), bq_numeric_multiply(a, b))',
  // Looks for the value in a sorted copy, from its end.
  'bq_range_bucket(x, a)':
    "case when x is null or a is null then null when list_count(a) <> len(a) or list_sort(a) is distinct from a then bq_fail('Elements in input array to RANGE_BUCKET must be in ascending order') else len(a) - list_position(list_reverse_sort(list_append(a, x)), x) + 1 end",
  // TRY_CAST everywhere: DuckDB also casts values of a dictionary that no row of the branch has. A text that DuckDB writes again for the
  // number that it read is a number to BigQuery, too. Hexadecimal texts are read in the engine process.
  'bq_int64(x)': String.raw`case when cast(try_cast(x as bigint) as varchar) = x then try_cast(x as bigint) when regexp_full_match(x, '\s*[+-]?\d+\s*') and try_cast(x as bigint) is not null then try_cast(x as bigint) when x is not null then bq_read_int64(x) end`,
  'bq_safe_int64(x)': String.raw`case when cast(try_cast(x as bigint) as varchar) = x then try_cast(x as bigint) when regexp_full_match(x, '\s*[+-]?\d+\s*') then try_cast(x as bigint) when regexp_matches(x, '[xX\v]') then bq_safe_read_int64(x) end`,
  'bq_float64(x)': `case when regexp_full_match(x, '${floatText}') then try_cast(x as double) when x is not null then bq_read_float64(x) end`,
  'bq_safe_float64(x)': `case when regexp_full_match(x, '${floatText}') then try_cast(x as double) when regexp_matches(x, '[xX\\v(]') then bq_safe_read_float64(x) end`,
  // With a prefix if BigQuery would not read the text, so that DuckDB does not either.
  'bq_number_text(x)': `case when regexp_full_match(x, '${floatText}') then x else 'not a number: ' || x end`,
  // DuckDB reads 38 digits at most, whatever the exponent makes of them, and rounds 5e-11 up.
  'bq_plain_numeric(x)':
    "case when not regexp_matches(x, '[eE]') then try_cast(bq_number_text(x) as decimal(38, 9)) end",
  'bq_text_numeric(x)': 'coalesce(bq_plain_numeric(x), bq_read_numeric(x))',
  'bq_safe_text_numeric(x)': 'coalesce(bq_plain_numeric(x), bq_safe_read_numeric(x))',
  'bq_bool(x)':
    "case lower(x) when 'true' then true when 'false' then false else case when x is null then null else cast(bq_fail('Bad bool value: ' || x) as boolean) end end",
  'bq_safe_bool(x)': "case lower(x) when 'true' then true when 'false' then false end",
  'bq_fraction(x)':
    "case when epoch_us(x) % 1000000 = 0 then '' when epoch_us(x) % 1000 = 0 then strftime(x, '.%g') else strftime(x, '.%f') end",
  'bq_timestamp_text(x)':
    "strftime(timezone('UTC', x), '%Y-%m-%d %H:%M:%S') || bq_fraction(timezone('UTC', x)) || '+00'",
  'bq_datetime_text(x)': "strftime(x, '%Y-%m-%d %H:%M:%S') || bq_fraction(x)",
  // The offset of the wall clock in whole minutes, and the time at that offset.
  'bq_offset_text(s)':
    "case when s < 0 then '-' else '+' end || lpad(cast(abs(s) // 3600 as varchar), 2, '0') || case when s % 3600 = 0 then '' else ':' || lpad(cast(abs(s) // 60 % 60 as varchar), 2, '0') end",
  'bq_zoned_text(x, c)':
    'bq_datetime_text(c - to_microseconds((epoch_us(c) - epoch_us(x)) % 60000000)) || bq_offset_text((epoch_us(c) - epoch_us(x)) // 60000000 * 60)',
  // Fifteen digits if they give the same number again, otherwise seventeen.
  'bq_float_text(x)':
    "case when isnan(x) then 'nan' when isinf(x) then (case when x > 0 then 'inf' else '-inf' end) when x = 0 then '0' when cast(printf('%.15g', x) as double) = x then printf('%.15g', x) else printf('%.17g', x) end",
  'bq_float_with_point(x)':
    "case when x = 0 and signbit(x) then '-' else '' end || bq_float_text(x) || case when isfinite(x) and not contains(bq_float_text(x), '.') and not contains(bq_float_text(x), 'e') then '.0' else '' end",
  'bq_float_literal(x)':
    "case when isfinite(x) then bq_float_with_point(x) else 'CAST(\"' || bq_float_text(x) || '\" AS FLOAT64)' end",
  'bq_wire_datetime(x)': `case when year(x) not between 1 and 9999 then error('${failureMark}DATETIME out of range: ' || x) else replace(strftime(x, '%Y-%m-%dT%H:%M:%S.%f'), '.000000', '') end`,
  'bq_time_text(x)': "substr(bq_datetime_text(date '1970-01-01' + x), 12)",
  'bq_wire_time(x)': "substr(bq_wire_datetime(date '1970-01-01' + x), 12)",
  'bq_wire_date(x)': `case when x between date '0001-01-01' and date '9999-12-31' then cast(x as varchar) when x is null then null else error('${failureMark}DATE out of range: ' || x) end`,
  'bq_wire_timestamp(x)': `case when epoch_us(x) between -62135596800000000 and 253402300799999999 then epoch_us(x) when x is null then null else error('${failureMark}TIMESTAMP out of range: ' || x) end`,
  'bq_not_nan(x)':
    "case when isnan(x) then bq_fail('NaN is not supported where an aggregate sorts its values') else x end",
  'bq_wire_float(x)':
    "case when isnan(x) then to_json('NaN') when isinf(x) then to_json(case when x > 0 then 'Infinity' else '-Infinity' end) else to_json(x) end",
  'bq_wire_numeric(x)': "rtrim(rtrim(cast(x as varchar), '0'), '.')",
  'bq_ranged_date(x)':
    "case when x between date '0001-01-01' and date '9999-12-31' then x when x is not null then cast(bq_fail_text('DATE out of range: ' || x) as date) end",
  'bq_ranged_datetime(x)':
    "case when year(x) between 1 and 9999 then x when x is not null then cast(bq_fail_text('DATETIME out of range: ' || x) as timestamp) end",
  'bq_ranged_timestamp(x)':
    "case when epoch_us(x) between -62135596800000000 and 253402300799999999 then x when x is not null then cast(bq_fail_text('TIMESTAMP out of range: ' || x) as timestamptz) end",
  'bq_array_concat(a, b)': 'case when a is null or b is null then null else list_concat(a, b) end',
  // Offsets from 0, negative ones from the end, both ends included.
  'bq_array_slice(a, s, e)':
    'case when s is null or e is null then null when (case when e < 0 then e + len(a) else least(e, len(a) - 1) end) < greatest(case when s < 0 then s + len(a) else least(s, len(a)) end, 0) then list_slice(a, 2, 1) else list_slice(a, greatest(case when s < 0 then s + len(a) else least(s, len(a)) end, 0) + 1, (case when e < 0 then e + len(a) else least(e, len(a) - 1) end) + 1) end',
  'bq_array_to_string(a, s)':
    'case when s is null then null else array_to_string(list_filter(a, lambda e: e is not null), s) end',
  'bq_generate_array(a, b, s)': `case when s = 0 then [bq_fail('Sequence step cannot be 0')] when (cast(b as hugeint) - a) // s >= ${maxElements} then [bq_fail('GENERATE_ARRAY produces too many elements; the limit is ${maxElements}')] when case when s > 0 then b < a else b > a end then [] else generate_series(a, b, s) end`,
  'bq_checked_step(a, b, s)': `case when epoch_us(s) = 0 then to_days(bq_fail('Sequence step cannot be 0')) when (epoch_us(b) - epoch_us(a)) // epoch_us(s) >= ${maxElements} then to_days(bq_fail('The array has too many elements; the limit is ${maxElements}')) else s end`,
  'bq_generate_timestamps(a, b, s)': 'generate_series(a, b, bq_checked_step(a, b, s))',
  'bq_generate_dates(a, b, s)':
    'list_transform(generate_series(cast(a as timestamp), cast(b as timestamp), bq_checked_step(cast(a as timestamp), cast(b as timestamp), s)), lambda e: cast(e as date))',
  // A time that the clock shows twice is the earlier one: that of the offset of the day before.
  'bq_day_before(z, x)': 'timezone(z, x) - to_hours(24)',
  'bq_by_day_before(z, x)':
    'make_timestamptz(epoch_us(x) + epoch_us(bq_day_before(z, x)) - epoch_us(timezone(z, bq_day_before(z, x))))',
  'bq_instant(z, x)':
    'case when timezone(z, bq_day_before(z, x)) + to_hours(24) > x and timezone(z, bq_by_day_before(z, x)) = x then bq_by_day_before(z, x) else timezone(z, x) end',
  // DuckDB's own cast keeps the named zone of one row for the next that has none. The list of one element calculates the text once.
  'bq_zoned(x)': `list_extract(list_transform([x], lambda v: case when regexp_matches(v, ' [A-Z]') then bq_instant(regexp_extract(v, ' ([A-Z].*)$', 1), cast(regexp_extract(v, '^[0-9-]+ [0-9:.]+') as timestamp)) else cast(v as timestamptz) end), 1)`,
  ...intervalMacros,
  ...rangeMacros,
  ...temporalMacros('TIMESTAMP', 'timestamptz'),
  ...temporalMacros('DATETIME', 'timestamp'),
  ...temporalMacros('DATE', 'date'),
  ...temporalMacros('TIME', 'time'),
  'bq_split(x, s)': 'case when s is null then null else string_split(x, s) end',
  'bq_upper(x)': `case when strlen(x) = length(x) then upper(x) when regexp_matches(x, '[${longUpper}]') then bq_full_upper(x) else upper(replace(x, 'ß', 'SS')) end`,
  // The last sigma of a word has a form of its own.
  'bq_lower(x)':
    "case when strlen(x) = length(x) then lower(x) when contains(x, 'Σ') then bq_full_lower(x) else lower(replace(x, 'İ', 'i̇')) end",
  // As CONTAINS_SUBSTR compares: by NFKC and without letter case.
  'bq_folded(x)':
    "case when strlen(x) = length(x) then lower(x) else bq_normalize_and_casefold(x, 'NFKC') end",
  'bq_ascii(x)':
    "case when x = '' then 0 when ascii(x) > 127 then bq_fail('Argument to ASCII is not a structurally valid ASCII string: ''' || x || '''') else ascii(x) end",
  'bq_like(x, p)': String.raw`case when x is not null and length(regexp_extract(p, '\\*$')) % 2 = 1 then cast(bq_fail('LIKE pattern ends with a backslash') as boolean) else x like p escape '\' end`,
  // BigQuery reverses code points; DuckDB keeps a letter and its accents together.
  'bq_reverse(x)':
    "case when strlen(x) = length(x) then reverse(x) else array_to_string(list_reverse(string_split(x, '')), '') end",
  'bq_repeat(x, n)': `case when n < 0 then bq_fail_text('Second argument (repeat count) for REPEAT cannot be negative') when n * strlen(x) > ${maxOutputLength} then bq_fail_text('Output of REPEAT exceeds max allowed output size of 1MB') else repeat(cast(x as varchar), n) end`,
  'bq_replace(x, a, b)': `case when a = '' and b is not null then x when strlen(x) * strlen(b) > ${maxOutputLength} and strlen(x) + (strlen(x) - strlen(replace(x, a, ''))) // strlen(a) * (strlen(b) - strlen(a)) > ${maxOutputLength} then bq_fail_text('Output of REPLACE exceeds max allowed output size of 1MB') else replace(x, a, b) end`,
  'bq_decode_base64(x)':
    "case when regexp_full_match(x, '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?') then from_base64(x || repeat('=', (4 - length(x) % 4) % 4)) when x is not null then encode(bq_fail_text('Failed to decode invalid base64 string')) end",
  // White space is ignored, and padding may be missing.
  'bq_from_base64(x)': String.raw`bq_decode_base64(regexp_replace(x, '[\t-\r ]', '', 'g'))`,
  'bq_start(x, n)': 'case when n = 0 or n < -length(x) then 1 when n > 4294967295 then 4294967295 else n end',
  'bq_substr(x, n, l)':
    "case when l is null then null when l < 0 then bq_fail_text('Third argument in SUBSTR() cannot be negative') else substr(x, bq_start(x, n), least(l, 4294967295)) end",
  'bq_left(x, n)':
    "case when n < 0 then bq_fail_text('Second argument in LEFT() cannot be negative') else left(x, case when n > 4294967295 then 4294967295 else n end) end",
  'bq_right(x, n)':
    "case when n < 0 then bq_fail_text('Second argument in RIGHT() cannot be negative') else right(x, case when n > 4294967295 then 4294967295 else n end) end",
  'bq_lpad(x, n, p)': `case when n < 0 then bq_fail_text('Second argument (output size) for LPAD/RPAD cannot be negative') when n > ${maxOutputLength} then bq_fail_text('Output of LPAD/RPAD exceeds max allowed output size of 1MB') when p = '' and x is not null then bq_fail_text('Third argument (pad pattern) for LPAD/RPAD cannot be empty') when n * 4 > ${maxOutputLength} and strlen(lpad(x, cast(n as integer), p)) > ${maxOutputLength} then bq_fail_text('Output of LPAD/RPAD exceeds max allowed output size of 1MB') else lpad(x, cast(n as integer), p) end`,
  'bq_rpad(x, n, p)': `case when n < 0 then bq_fail_text('Second argument (output size) for LPAD/RPAD cannot be negative') when n > ${maxOutputLength} then bq_fail_text('Output of LPAD/RPAD exceeds max allowed output size of 1MB') when p = '' and x is not null then bq_fail_text('Third argument (pad pattern) for LPAD/RPAD cannot be empty') when n * 4 > ${maxOutputLength} and strlen(rpad(x, cast(n as integer), p)) > ${maxOutputLength} then bq_fail_text('Output of LPAD/RPAD exceeds max allowed output size of 1MB') else rpad(x, cast(n as integer), p) end`,
  'bq_pattern(p)': String.raw`case when regexp_matches(p, '(?s).\^|\$.|\\[Az]') then '()' || p else p end`,
  'bq_regexp_extract(x, p, g)': 'case when regexp_matches(x, p) then regexp_extract(x, p, g) end',
  'bq_regexp_extract_all(x, p, g)':
    "case when regexp_matches('', p) or (regexp_matches(p, '\\\\[bB]') and list_contains(regexp_extract_all(x, p, 0), '')) then bq_regexp_extract_each(x, p) else list_transform(regexp_extract_all(x, p, g), lambda e: coalesce(e, '')) end",
  // Whether DuckDB's own reader may read a text, if it is JSON: without NaN, infinities, halves of surrogate pairs and the like, and
  // without deep nesting. The first pattern begins with a letter, and is five times as fast as the second, which decides. CASE, not AND: of
  // an AND that is a value, DuckDB calculates every operand.
  'bq_json_plain(x, escapes)': String.raw`case when regexp_matches(x, '(?i)n(?:an|f)(?:[\s,\]}]|$|inity)') and regexp_matches(x, '(?i)(?:^|[\s:,\[-])(?:nan|inf|infinity)(?:[\s,\]}]|$)') then false when contains(x, '\u') and regexp_matches(x, escapes) then false when strlen(x) > 2000 and strlen(x) - strlen(translate(x, '[{', '')) > 1000 then false else true end`,
  'bq_json_opens(x)': String.raw`case when x[1] = '{' then true else regexp_matches(x, '^\s*[\[{]') end`,
  // The value at each path, as JSON; NULL if the text is no object or array. All are `!`, the list `doubts`, if the text is not JSON, or
  // `sure` is false. `json_valid` instead of TRY would read the text once more.
  'bq_json_read(x, sure, paths, doubts)':
    'case when bq_json_opens(x) then case when sure then coalesce(cast(try(json_extract(x, paths)) as varchar[]), doubts) else doubts end end',
  'bq_json_read_one(x, sure, path)':
    "case when bq_json_opens(x) then case when sure then coalesce(cast(try(json_extract(x, path)) as varchar), case when not json_valid(x) then '!' end) else '!' end end",
  // The scalar `e`, as DuckDB writes it in JSON. A number is taken if it has only one spelling. In ASCII, `!` and `"` come before digits
  // and `-`, and these before `:`.
  'bq_json_scalar(e, x, steps)': `case when starts_with(e, '"') then case when contains(e, '\\') then list_transform([e], lambda t: json_extract_string(t, '$'))[1] else replace(e, '"', '') end when e in ('true', 'false') or regexp_full_match(e, '-?[0-9]+') and (e <> '0' or not contains(x, '-0')) then e when e < ':' then bq_read_json_value(x, steps) end`,
  // The scalar cast to a number. Most are numbers in JSON, which need no text in between.
  ...jsonNumber(
    'int64',
    'bigint',
    "regexp_full_match(e, '-?[0-9]{1,18}')",
    String.raw`(\s*[+-]?[0-9]{1,18}\s*)`,
  ),
  ...jsonNumber(
    'float64',
    'double',
    "e between '-' and ':' and (e <> '0' or not contains(x, '-0'))",
    `(${floatText})`,
  ),
  // An integer beyond 2^53 is written as a string.
  'bq_json_integer(x)':
    "case when x is null then 'null' when x between -9007199254740992 and 9007199254740992 then cast(x as varchar) else '\"' || x || '\"' end",
  'bq_json_exact(x)':
    "case when x between -9007199254740992 and 9007199254740992 and x = trunc(x) then bq_wire_numeric(x) else '\"' || bq_wire_numeric(x) || '\"' end",
  'bq_json_number(x)':
    'case when isnan(x) then \'"NaN"\' when isinf(x) then (case when x > 0 then \'"Infinity"\' else \'"-Infinity"\' end) else bq_float_text(x) end',
  // DuckDB escapes control characters with upper-case digits.
  'bq_json_quoted(x)': String.raw`case when regexp_matches(x, '[\x0b\x0e\x0f\x1a-\x1f]') then bq_json_literal(x) else cast(to_json(x) as varchar) end`,
  'bq_json_separators(x)': String.raw`replace(replace(x, chr(8232), '\u2028'), chr(8233), '\u2029')`,
};

/**
 * Statements that create the TEMP macros that printed SQL calls; run them in order, once per connection.
 * The database may be open read-only: temporary macros belong to the connection.
 */
export const duckDbMacros: readonly string[] = Object.entries(macros).map(
  ([signature, body]) => `create or replace temp macro ${signature} as (${body})`,
);

type Macro = { readonly parameters: readonly string[]; readonly body: string; repeats?: readonly boolean[] };

const macrosByName: ReadonlyMap<string, Macro> = new Map(
  Object.entries(macros).map(([signature, body]) => {
    const [name, inside] = signature.slice(0, -1).split('(') as [string, string];
    return [name, { parameters: inside.split(', '), body }];
  }),
);

/** How often each name occurs in a DuckDB text; two or more means "repeated". Arguments of a macro count as often as in its body. */
export function countMentions(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const add = (name: string, count: number) => counts.set(name, (counts.get(name) ?? 0) + count);
  const word = /'[^']*'|"[^"]*"|bq_\w+\(|\$\{\d+\}|\$(?:\w+|\*|\|\|)|\w+/g;
  for (let found = word.exec(text); found; found = word.exec(text)) {
    const [piece] = found;
    const macro = piece.endsWith('(') ? macrosByName.get(piece.slice(0, -1)) : undefined;
    if (!macro) {
      add(piece.replace(/[{}]/g, ''), 1);
      continue;
    }
    const { values, end } = argumentsFrom(text, word.lastIndex);
    const repeats = repeatsOf(macro);
    for (const [i, value] of values.entries())
      for (const [name, count] of countMentions(value)) add(name, count * (repeats[i] ? 2 : 1));
    word.lastIndex = end;
  }
  return counts;
}

/** Which of a macro's parameters occur more than once in its expanded body. */
function repeatsOf(macro: Macro): readonly boolean[] {
  if (!macro.repeats) {
    const counts = countMentions(macro.body);
    macro.repeats = macro.parameters.map(parameter => (counts.get(parameter) ?? 0) > 1);
  }
  return macro.repeats;
}

/** The arguments of a call whose opening parenthesis is before `start`; `end` is after the closing one. */
function argumentsFrom(text: string, start: number): { values: readonly string[]; end: number } {
  const values: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; ; at++) {
    const character = text[at]!;
    if (character === "'" || character === '"') at = text.indexOf(character, at + 1);
    else if ('([{'.includes(character)) depth++;
    else if (depth === 0 && (character === ',' || character === ')')) {
      values.push(text.slice(from, at));
      from = at + 1;
      if (character === ')') return { values, end: from };
    } else if (')]}'.includes(character)) depth--;
  }
}
