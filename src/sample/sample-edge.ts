import { below, chance, hex, ipv4, ipv6, numbers, pick, text, weigh } from './draws.ts';
import type { SampleSource } from './sample-source.ts';
import { functionNames, project, tables, userAgents } from './vocabulary.ts';

const edgePath = `CASE area
  WHEN 'rest' THEN concat('/rest/v1/', ${pick('table', tables)})
  WHEN 'auth' THEN ${pick('auth', ['/auth/v1/token', '/auth/v1/user', '/auth/v1/signup', '/auth/v1/logout', '/auth/v1/otp'])}
  WHEN 'storage' THEN concat('/storage/v1/object/public/avatars/', ${hex('object', 8)}, ${pick('extension', ['.png', '.jpg', '.webp'])})
  WHEN 'realtime' THEN '/realtime/v1/websocket'
  WHEN 'functions' THEN concat('/functions/v1/', ${pick('function', functionNames)})
  ELSE ${pick('other', ['/', '/favicon.ico', '/graphql/v1', '/pg/health'])} END`;

const edgeStatus = `CASE WHEN area = 'realtime' THEN 101 ELSE ${weigh('status', numbers({
  200: 780, 201: 70, 204: 40, 304: 20, 400: 25, 401: 20, 403: 8, 404: 20, 409: 5, 429: 3, 500: 5, 502: 2, 503: 2,
}))} END`; // biome-ignore format: one list

const places = "{colo: 'FRA', city: 'Frankfurt am Main', country: 'DE', continent: 'EU', region: 'Hesse', code: 'HE', timezone: 'Europe/Berlin', postal: '60313', latitude: '50.11552', longitude: '8.68417', eu: '1'},"
  + "{colo: 'IAD', city: 'Ashburn', country: 'US', continent: 'NA', region: 'Virginia', code: 'VA', timezone: 'America/New_York', postal: '20147', latitude: '39.04372', longitude: '-77.48749', eu: NULL},"
  + "{colo: 'SIN', city: 'Singapore', country: 'SG', continent: 'AS', region: NULL, code: NULL, timezone: 'Asia/Singapore', postal: '018989', latitude: '1.28967', longitude: '103.85007', eu: NULL},"
  + "{colo: 'GRU', city: 'São Paulo', country: 'BR', continent: 'SA', region: 'São Paulo', code: 'SP', timezone: 'America/Sao_Paulo', postal: '01000', latitude: '-23.54750', longitude: '-46.63611', eu: NULL},"
  + "{colo: 'LHR', city: 'London', country: 'GB', continent: 'EU', region: 'England', code: 'ENG', timezone: 'Europe/London', postal: 'EC4N', latitude: '51.50853', longitude: '-0.12574', eu: NULL}"; // biome-ignore format: a table

/** Sample rows of `cloudflare.logs.prod`, which both saved queries read. */
export const edge: SampleSource = {
  share: 1,
  draws: {
    project,
    area: weigh('area', text({ rest: 55, auth: 14, storage: 16, realtime: 7, functions: 5, other: 3 })),
    path: edgePath,
    status: edgeStatus,
    method: `CASE WHEN area IN ('realtime', 'storage', 'other') THEN 'GET' WHEN area = 'functions' THEN 'POST' ELSE ${weigh('method', text({ GET: 70, POST: 18, PATCH: 6, DELETE: 2, OPTIONS: 4 }))} END`,
    search: `CASE WHEN area = 'rest' THEN concat('?select=*&id=eq.', ${below('id', 5000)}) WHEN path = '/auth/v1/token' THEN '?grant_type=password' END`,
    host: `concat(project, '.supabase.co')`,
    ip: weigh('ip', [
      [ipv4('ip'), 88],
      [ipv6('ip'), 12],
    ]),
    agent: pick('agent', userAgents),
    place: `([${places}])[1 + ${below('place', 5)}]`,
    ray: `concat(${hex('ray', 16)}, '-', struct_extract(place, 'colo'))`,
    milliseconds: `4 + ${below('fast', 60)} + CASE WHEN ${chance('slow', 5)} THEN ${below('slower', 4000)} ELSE 0 END`,
    event_message: `concat_ws(' | ', method, status, ip, ray, concat('https://', host, path, search), agent)`,
  },
  leaves: {
    project: 'project',
    event_message: 'event_message',
    'metadata.logflare_worker.worker_id': hex('worker', 6),
    'metadata.request.method': 'method',
    'metadata.request.path': 'path',
    'metadata.request.host': 'host',
    'metadata.request.protocol': `'https:'`,
    'metadata.request.search': 'search',
    'metadata.request.url': `concat('https://', host, path, search)`,
    'metadata.request.cf?': `NOT ${chance('no cf', 2)}`,
    'metadata.request.cf.asn': pick('asn', ['13335', '16509', '3320', '7018', '15169', '8881']),
    'metadata.request.cf.asOrganization': pick('asn', [
      'Cloudflare',
      'Amazon.com',
      'Deutsche Telekom',
      'AT&T',
      'Google',
      '1&1 Versatel',
    ]),
    'metadata.request.cf.botManagement.score': `1 + ${below('score', 99)}`,
    'metadata.request.cf.botManagement.verifiedBot': chance('bot', 3),
    'metadata.request.cf.botManagement.corporateProxy': 'false',
    'metadata.request.cf.botManagement.staticResource': `area = 'storage'`,
    'metadata.request.cf.botManagement.detectionIds': `CASE WHEN ${chance('detected', 4)} THEN [33554817, ${below('detection', 9999)}] ELSE [] END`,
    'metadata.request.cf.botManagement.ja3Hash': hex('ja3', 32),
    'metadata.request.cf.city': 'place.city',
    'metadata.request.cf.colo': 'place.colo',
    'metadata.request.cf.continent': 'place.continent',
    'metadata.request.cf.country': 'place.country',
    'metadata.request.cf.region': 'place.region',
    'metadata.request.cf.regionCode': 'place.code',
    'metadata.request.cf.timezone': 'place.timezone',
    'metadata.request.cf.postalCode': 'place.postal',
    'metadata.request.cf.latitude': 'place.latitude',
    'metadata.request.cf.longitude': 'place.longitude',
    'metadata.request.cf.isEUCountry': 'place.eu',
    'metadata.request.cf.clientTcpRtt': below('rtt', 180),
    'metadata.request.cf.clientAcceptEncoding': `'gzip, deflate, br'`,
    'metadata.request.cf.httpProtocol': pick('protocol', ['HTTP/1.1', 'HTTP/2', 'HTTP/3']),
    'metadata.request.cf.tlsVersion': `'TLSv1.3'`,
    'metadata.request.cf.tlsCipher': `'AEAD-AES128-GCM-SHA256'`,
    'metadata.request.cf.tlsClientAuth.certPresented': `'0'`,
    'metadata.request.cf.tlsClientAuth.certVerified': `'NONE'`,
    'metadata.request.headers.accept': `'*/*'`,
    'metadata.request.headers.cf_connecting_ip': 'ip',
    'metadata.request.headers.x_real_ip': 'ip',
    'metadata.request.headers.cf_ipcountry': 'place.country',
    'metadata.request.headers.cf_ray': 'ray',
    'metadata.request.headers.host': 'host',
    'metadata.request.headers.user_agent': 'agent',
    'metadata.request.headers.x_client_info': pick('client', [
      'supabase-js-web/2.44.2',
      'supabase-js-node/2.43.4',
      'supabase-flutter/2.5.6',
    ]),
    'metadata.request.headers.x_forwarded_proto': `'https'`,
    'metadata.response.origin_time': 'milliseconds',
    'metadata.response.status_code': 'status',
    'metadata.response.headers.cf_cache_status': `CASE WHEN area = 'storage' THEN ${pick('cache', ['HIT', 'MISS', 'EXPIRED'])} ELSE 'DYNAMIC' END`,
    'metadata.response.headers.cf_ray': 'ray',
    'metadata.response.headers.content_type': `CASE WHEN area = 'storage' THEN 'image/png' ELSE 'application/json; charset=utf-8' END`,
    'metadata.response.headers.content_length': `CASE WHEN status NOT IN (101, 204, 304) THEN (2 + ${below('length', 40_000)})::VARCHAR END`,
    'metadata.response.headers.date': `strftime(ts, '%a, %d %b %Y %H:%M:%S GMT')`,
    'metadata.response.headers.sb_gateway_version': `'1'`,
  },
};
