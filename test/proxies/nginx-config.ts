/** nginx as a cache that does what the gateway's headers say; in one process, so that one signal ends it. */
export function nginxConfig({
  port,
  gatewayPort,
  directory,
}: {
  readonly port: number;
  readonly gatewayPort: number;
  readonly directory: string;
}): string {
  return `
daemon off;
master_process off;
pid ${directory}/pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/temp;
  proxy_cache_path ${directory}/cache keys_zone=rows:1m inactive=1h;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${gatewayPort};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_connect_timeout 1s;
      proxy_cache rows;
      proxy_cache_lock on;
      proxy_cache_revalidate on;
      proxy_cache_background_update on;
      proxy_cache_use_stale updating error timeout;
      add_header X-Proxy $upstream_cache_status always;
    }
  }
}
`;
}
