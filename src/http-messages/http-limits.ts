/** Maximum characters of a URL. Contract 2.10 requires at least 64 KiB; callers put SQL there. */
export const maxUrlLength = 72 * 1024;

/** Maximum bytes of a request's head; above `maxUrlLength`, so that most requests with too long a URL get a proper response. */
export const maxHeaderBytes = 128 * 1024;

/** Maximum number of headers of a request. */
export const maxHeaders = 1000;

/** Maximum bytes of a request body, except one with rows to load. */
export const maxBodyBytes = 1024 * 1024;

/** Maximum bytes of a request body with rows to load. */
export const maxRowsBytes = 64 * 1024 * 1024;

/** Maximum requests on one connection that wait for the response to an earlier one. */
export const maxPipelined = 32;

/** Milliseconds for which an idle connection stays open; longer than the minute after which proxies close theirs. */
export const keepAliveMs = 65_000;

/** Bytes of a response that are written at a time; a client that reads this much within the time-out makes progress. */
export const pieceBytes = 128 * 1024;

/** Maximum bytes of a response that is remembered and written at once. A longer one would evict hundreds of others, so it is rendered each time. */
export const maxRepeatedBytes = 1024 * 1024;
