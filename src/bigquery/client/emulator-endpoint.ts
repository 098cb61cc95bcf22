/**
 * Whether an endpoint is an emulator: one on this machine, or one without TLS. It receives no credentials, and its answers
 * may omit fields. Any other endpoint counts as Google's, including regional and private ones.
 * @param endpoint a URL. Default: Google's global endpoint
 */
export function isEmulator(endpoint: string | undefined): boolean {
  if (endpoint === undefined) return false;
  const { protocol, hostname } = new URL(endpoint);
  return protocol === 'http:' || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
