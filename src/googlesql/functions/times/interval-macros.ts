/** Macros of DuckDB for INTERVAL values. An interval's months, days and microseconds are apart, in both engines. */
export const intervalMacros: Readonly<Record<string, string>> = {
  'bq_interval_months(x)': "(date_part('year', x) * 12 + date_part('month', x))",
  'bq_interval_micros(x)':
    "(date_part('hour', x) * 3600000000 + date_part('minute', x) * 60000000 + date_part('microsecond', x))",
  'bq_interval(m, d, u)': `case when m is null or d is null or u is null then null when abs(m) <= 120000 and abs(d) <= 3660000 and abs(u) <= 316224000000000000 then to_months(cast(m as integer)) + to_days(cast(d as integer)) + to_microseconds(cast(u as bigint)) else to_days(bq_fail('Interval field is out of range')) end`,
  'bq_interval_times(x, n)':
    "bq_interval(cast(bq_interval_months(x) as hugeint) * n, cast(date_part('day', x) as hugeint) * n, cast(bq_interval_micros(x) as hugeint) * n)",
  // The remainder of months is carried into days, and that of days into the time.
  'bq_interval_divide(x, n)':
    "case when n = 0 then to_days(bq_fail('Division by zero: INTERVAL / 0')) else bq_interval(bq_interval_months(x) // n, (date_part('day', x) + bq_interval_months(x) % n * 30) // n, (bq_interval_micros(x) + (date_part('day', x) + bq_interval_months(x) % n * 30) % n * 86400000000) // n) end",
  'bq_no_months(x)':
    "case when bq_interval_months(x) <> 0 then to_days(bq_fail('TIMESTAMP +/- INTERVAL is not supported for intervals with non-zero MONTH or YEAR part')) else x end",
  'bq_interval_text(x)':
    "case when bq_interval_months(x) < 0 then '-' else '' end || abs(bq_interval_months(x)) // 12 || '-' || abs(bq_interval_months(x)) % 12 || ' ' || date_part('day', x) || ' ' || bq_clock_text(bq_interval_micros(x))",
  'bq_clock_text(u)':
    "case when u < 0 then '-' else '' end || abs(u) // 3600000000 || ':' || abs(u) // 60000000 % 60 || ':' || abs(u) // 1000000 % 60 || case when u % 1000000 = 0 then '' when u % 1000 = 0 then '.' || lpad(cast(abs(u) % 1000000 // 1000 as varchar), 3, '0') else '.' || lpad(cast(abs(u) % 1000000 as varchar), 6, '0') end",
  // Carries full days out of the time, then gives days and time one sign; likewise with months.
  'bq_carry(high, low, size)':
    'case when high + low // size > 0 and low % size < 0 then -1 when high + low // size < 0 and low % size > 0 then 1 else 0 end',
  'bq_justify_hours(x)':
    "array_extract(list_transform([row(bq_interval_months(x), date_part('day', x), bq_interval_micros(x))], lambda i: bq_interval(i[1], i[2] + i[3] // 86400000000 + bq_carry(i[2], i[3], 86400000000), i[3] % 86400000000 - bq_carry(i[2], i[3], 86400000000) * 86400000000)), 1)",
  'bq_justify_days(x)':
    "array_extract(list_transform([row(bq_interval_months(x), date_part('day', x), bq_interval_micros(x))], lambda i: bq_interval(i[1] + i[2] // 30 + bq_carry(i[1], i[2], 30), i[2] % 30 - bq_carry(i[1], i[2], 30) * 30, i[3])), 1)",
  'bq_justify_interval(x)':
    "list_extract(list_transform(list_transform(list_transform([row(bq_interval_months(x), date_part('day', x), bq_interval_micros(x))], " +
    'lambda i: row(i[1] + (i[2] + i[3] // 86400000000) // 30, (i[2] + i[3] // 86400000000) % 30, i[3] % 86400000000)), ' +
    'lambda i: row(i[1], i[2], i[3], case when i[1] > 0 and (i[2] < 0 or i[2] = 0 and i[3] < 0) then -1 when i[1] < 0 and (i[2] > 0 or i[2] = 0 and i[3] > 0) then 1 else 0 end)), ' +
    'lambda i: bq_interval(i[1] + i[4], i[2] - i[4] * 30 + bq_carry(i[2] - i[4] * 30, i[3], 86400000000), i[3] - bq_carry(i[2] - i[4] * 30, i[3], 86400000000) * 86400000000)), 1)',
};

/** Macros of DuckDB for RANGE values. */
export const rangeMacros: Readonly<Record<string, string>> = {
  // DuckDB evaluates a constant branch even if it is not taken, so the failure is passed as a value.
  'bq_range(a, b, failure)':
    "case when coalesce(a, '-infinity') < coalesce(b, 'infinity') then {'s': coalesce(a, '-infinity'), 'e': coalesce(b, 'infinity')} else {'s': failure, 'e': b} end",
  'bq_range_array(s, e, step, last)':
    "case when s is null or step is null or last is null then null when not isfinite(s) or not isfinite(e) then [[cast(bq_fail_text('GENERATE_RANGE_ARRAY takes no RANGE with an UNBOUNDED bound') as timestamp)]] when bq_interval_months(step) <> 0 then [[cast(bq_fail_text('GENERATE_RANGE_ARRAY is not supported for steps of months') as timestamp)]] when epoch_us(step) <= 0 then [[cast(bq_fail_text('GENERATE_RANGE_ARRAY step must be a positive INTERVAL') as timestamp)]] else list_transform(list_filter(generate_series(s, e, bq_checked_step(s, e, step)), lambda p: p < e and (last or p + step <= e)), lambda p: [p, least(p + step, e)]) end",
  'bq_range_text(s, e)': "'[' || coalesce(s, 'UNBOUNDED') || ', ' || coalesce(e, 'UNBOUNDED') || ')'",
};
