/**
 * Varnish as a cache that does what the gateway's headers say. It reads `stale-while-revalidate` by itself; for
 * `stale-if-error` it keeps entries for so long, and lets them be used while its probe finds the gateway ill.
 */
export function varnishConfig({ gatewayPort }: { readonly gatewayPort: number }): string {
  return `
vcl 4.1;
import std;

backend gateway {
  .host = "127.0.0.1";
  .port = "${gatewayPort}";
  .connect_timeout = 1s;
  .probe = { .url = "/health"; .interval = 200ms; .timeout = 1s; .window = 2; .threshold = 1; .initial = 1; }
}

sub vcl_backend_response {
  set beresp.http.X-Grace = beresp.grace;
  if (beresp.http.Cache-Control ~ "stale-if-error=") {
    set beresp.grace = std.duration(regsub(beresp.http.Cache-Control, ".*stale-if-error=([0-9]+).*", "\\1s"), 0s);
  }
}

sub vcl_hit {
  if (obj.ttl < 0s && std.healthy(req.backend_hint) && obj.ttl + std.duration(obj.http.X-Grace + "s", 0s) < 0s) {
    return (restart);
  }
}

sub vcl_recv {
  if (req.restarts > 0) {
    set req.hash_always_miss = true;
  }
}

sub vcl_deliver {
  unset resp.http.X-Grace;
  if (obj.hits == 0) {
    set resp.http.X-Proxy = "MISS";
  } else if (obj.ttl < 0s) {
    set resp.http.X-Proxy = "STALE";
  } else {
    set resp.http.X-Proxy = "HIT";
  }
}
`;
}
