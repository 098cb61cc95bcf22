import { row, unsupported } from '../function-row.ts';

const most = '9223372036854775807';

/** Functions of BYTES; those of texts are beside them in `functions-string.ts`. */
export const bytesRows = [
  ...['SUBSTR', 'SUBSTRING'].flatMap(name => [
    row(`${name}(BYTES, INT64) BYTES`, `bq_bytes_substr($1, $2, ${most})`),
    row(`${name}(BYTES, INT64, INT64) BYTES`, 'bq_bytes_substr($1, $2, $3)'),
  ]),
  row('LEFT(BYTES, INT64) BYTES', 'bq_bytes_left($1, $2)'),
  row('RIGHT(BYTES, INT64) BYTES', 'bq_bytes_right($1, $2)'),
  row('TRIM(BYTES, BYTES) BYTES', 'bq_bytes_trim($1, $2)'),
  row('LTRIM(BYTES, BYTES) BYTES', 'bq_bytes_ltrim($1, $2)'),
  row('RTRIM(BYTES, BYTES) BYTES', 'bq_bytes_rtrim($1, $2)'),
  row('REPLACE(BYTES, BYTES, BYTES) BYTES', 'bq_bytes_replace($1, $2, $3)'),
  row('REVERSE(BYTES) BYTES', 'bq_bytes_reverse($1)'),
  row('REPEAT(BYTES, INT64) BYTES', 'bq_bytes_repeat($1, $2)'),
  ...['LPAD', 'RPAD'].flatMap(name => [
    row(`${name}(BYTES, INT64) BYTES`, `bq_bytes_${name.toLowerCase()}($1, $2, ' '::blob)`),
    row(`${name}(BYTES, INT64, BYTES) BYTES`, `bq_bytes_${name.toLowerCase()}($1, $2, $3)`),
  ]),
  row('UPPER(BYTES) BYTES', 'bq_bytes_upper($1)'),
  row('LOWER(BYTES) BYTES', 'bq_bytes_lower($1)'),
  row('STARTS_WITH(BYTES, BYTES) BOOL', 'bq_bytes_starts_with($1, $2)'),
  row('ENDS_WITH(BYTES, BYTES) BOOL', 'bq_bytes_ends_with($1, $2)'),
  row('STRPOS(BYTES, BYTES) INT64', 'bq_bytes_strpos($1, $2)'),
  row('OCTET_LENGTH(BYTES) INT64', 'octet_length($1)'),
  row('ASCII(BYTES) INT64', 'bq_bytes_ascii($1)'),
  row('SPLIT(BYTES, BYTES) ARRAY<BYTES>', 'bq_bytes_split($1, $2)'),
  row('TRANSLATE(BYTES, BYTES, BYTES) BYTES', 'bq_bytes_translate($1, $2, $3)'),
  row('INSTR(BYTES, BYTES) INT64', 'bq_bytes_instr($1, $2, 1, 1)'),
  row('INSTR(BYTES, BYTES, INT64) INT64', 'bq_bytes_instr($1, $2, $3, 1)'),
  row('INSTR(BYTES, BYTES, INT64, INT64) INT64', 'bq_bytes_instr($1, $2, $3, $4)'),
  row('TO_CODE_POINTS(BYTES) ARRAY<INT64>', 'bq_bytes_to_code_points($1)'),
  row('CODE_POINTS_TO_BYTES(ARRAY<INT64>) BYTES', 'bq_code_points_to_bytes($1)'),
  row('SAFE_CONVERT_BYTES_TO_STRING(BYTES) STRING', 'bq_bytes_to_string($1)'),
  row('FROM_HEX(STRING) BYTES', 'bq_from_hex($1)'),
  ...Object.entries({ MD5: 'md5', SHA1: 'sha1', SHA256: 'sha256' }).map(([name, hash]) =>
    row(`${name}(BYTES) BYTES`, `unhex(${hash}($1))`),
  ),
  row('SHA512(STRING) BYTES', 'bq_sha512($1)'),
  row('SHA512(BYTES) BYTES', 'bq_bytes_sha512($1)'),
  row('FARM_FINGERPRINT(STRING) INT64', 'bq_farm_fingerprint($1)'),
  row('FARM_FINGERPRINT(BYTES) INT64', 'bq_bytes_farm_fingerprint($1)'),
  row('TO_BASE32(BYTES) STRING', 'bq_to_base32($1)'),
  row('FROM_BASE32(STRING) BYTES', 'bq_from_base32($1)'),
];

/** NET functions. The two that need the list of public suffixes are refused: it changes every week. */
export const netRows = [
  row('NET.HOST(STRING) STRING', 'bq_net_host($1)'),
  row('NET.IP_FROM_STRING(STRING) BYTES', 'bq_net_ip_from_string($1)'),
  row('NET.SAFE_IP_FROM_STRING(STRING) BYTES', 'bq_net_safe_ip_from_string($1)'),
  row('NET.IP_TO_STRING(BYTES) STRING', 'bq_net_ip_to_string($1)'),
  row('NET.IP_NET_MASK(INT64, INT64) BYTES', 'bq_net_ip_net_mask($1, $2)'),
  row('NET.IP_TRUNC(BYTES, INT64) BYTES', 'bq_net_ip_trunc($1, $2)'),
  row('NET.IPV4_FROM_INT64(INT64) BYTES', 'bq_net_ipv4_from_int64($1)'),
  row('NET.IPV4_TO_INT64(BYTES) INT64', 'bq_net_ipv4_to_int64($1)'),
  ...['NET.REG_DOMAIN', 'NET.PUBLIC_SUFFIX'].map(name => row(`${name}(STRING) STRING`, unsupported)),
];
