/** Where Redis is, parsed from a URL. */
export type RedisAddress = {
  readonly topology:
    | { readonly type: 'single'; readonly db: number }
    | { readonly type: 'sentinel'; readonly masterName: string; readonly db: number }
    | { readonly type: 'cluster' };
  /** The server; Sentinels; or some nodes of the Cluster. At least one. */
  readonly hosts: readonly RedisHost[];
  /** User of Redis itself, not of its Sentinels. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** User of the Sentinels, which have their own. */
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: string | undefined;
  /** Present if all connections are encrypted; with the file of the authority to trust instead of the well-known ones. */
  readonly tls: { readonly caFile: string | undefined } | undefined;
};

export type RedisHost = { readonly host: string; readonly port: number };

const forms =
  'redis://[user:password@]host[:port][/db], redis+sentinel://host:port,host:port/master-name[/db] or ' +
  'redis+cluster://host:port,host:port; rediss instead of redis for TLS, then with ?ca=<file> where needed; ' +
  '?sentinel-password=<password> for Sentinels that want one';

// The platform's URL parser does not accept a list of hosts.
const urlPattern =
  /^redis(?<tls>s?)(?:\+(?<type>sentinel|cluster))?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/;

const hostPattern = /^(?<host>\[[0-9a-f:.]+\]|[^\s:[\]]+)(?::(?<port>\d{1,5}))?$/i;

/**
 * Checks a Redis URL.
 * @returns a sentence without the URL, which may hold a password; undefined if nothing is wrong
 */
export function checkRedisUrl(url: string): string | undefined {
  const address = parseRedisUrl(url);
  return typeof address === 'string' ? address : undefined;
}

/** Reads a Redis URL. @returns what is wrong with it, if anything */
export function parseRedisUrl(url: string): RedisAddress | string {
  const parts = urlPattern.exec(url)?.groups;
  if (!parts) return `It is not a Redis URL; write ${forms}`;
  const type = parts.type === 'sentinel' || parts.type === 'cluster' ? parts.type : 'single';
  const hosts = parts.hosts!.split(',').map(text => readHost(text, type === 'sentinel' ? 26_379 : 6379));
  if (!hosts.every(host => host !== undefined))
    return 'One of its hosts is not written host:port, port 1 to 65535';
  if (type === 'single' && hosts.length > 1) {
    return 'It names several hosts, which needs redis+sentinel:// or redis+cluster://';
  }
  const topology = readPath(type, parts.path ?? '');
  if (typeof topology === 'string') return topology;
  const query = readQuery(type, parts.query);
  if (typeof query === 'string') return query;
  const { caFile, ...sentinel } = query;
  if (caFile && !parts.tls) return 'It has the parameter ca, which needs rediss';
  const username = decode(parts.user);
  const password = decode(parts.password);
  if (username === null || password === null) return 'Its user or password is not percent-encoded';
  return { topology, hosts, username, password, ...sentinel, tls: parts.tls ? { caFile } : undefined };
}

function readQuery(type: 'single' | 'sentinel' | 'cluster', text: string | undefined) {
  const query = new URLSearchParams(text);
  const known = ['ca', ...(type === 'sentinel' ? ['sentinel-user', 'sentinel-password'] : [])];
  if ([...query.keys()].some(name => !known.includes(name)))
    return `It has a parameter that is not known; allowed: ${known.join(', ')}`;
  return {
    caFile: query.get('ca') || undefined,
    sentinelUsername: query.get('sentinel-user') || undefined,
    sentinelPassword: query.get('sentinel-password') || undefined,
  };
}

function readPath(type: 'single' | 'sentinel' | 'cluster', path: string): RedisAddress['topology'] | string {
  if (type === 'cluster') return path ? 'It names a database; a Cluster has only one' : { type };
  const names = path.split('/');
  const masterName = type === 'sentinel' ? decode(names.shift()) : undefined;
  if (type === 'sentinel' && !masterName)
    return "It lacks the master's name: redis+sentinel://host:port/master-name";
  const [db = '', ...more] = names;
  if (!/^\d{0,5}$/.test(db) || more.length > 0) return 'Its database is not a number';
  return masterName ? { type: 'sentinel', masterName, db: Number(db) } : { type: 'single', db: Number(db) };
}

function readHost(text: string, defaultPort: number): RedisHost | undefined {
  const parts = hostPattern.exec(text)?.groups;
  const port = Number(parts?.port ?? defaultPort);
  if (!parts || port < 1 || port > 65_535) return undefined;
  return { host: parts.host!.replace(/^\[|\]$/g, ''), port };
}

/** @returns undefined if there is nothing, null if it is wrong */
function decode(text: string | undefined): string | undefined | null {
  if (!text) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
