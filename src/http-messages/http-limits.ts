/** Characters of a URL. Contract 2.10 asks for at least 64 KiB; callers put SQL there. */
export const maxUrlLength = 72 * 1024;

/** Bytes of a request's head; above `maxUrlLength`, so that most requests with too long a URL get a proper answer. */
export const maxHeaderBytes = 128 * 1024;

/** Bytes of a request body of the REST door. */
export const maxBodyBytes = 1024 * 1024;

/** Requests that may wait on one connection for the answer to the one ahead of them. */
export const maxPipelined = 32;

/** Milliseconds that a connection stays open between two requests; above the minute that proxies keep theirs. */
export const keepAliveMs = 65_000;
