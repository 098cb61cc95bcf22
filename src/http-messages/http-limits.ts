/** Characters of a URL. Contract 2.10 asks for at least 64 KiB; callers put SQL there. */
export const maxUrlLength = 72 * 1024;

/** Bytes of a request's headers; above `maxUrlLength`, so that most requests with too long a URL get a proper response. */
export const maxHeaderBytes = 128 * 1024;

/** Headers of a request. */
export const maxHeaders = 1000;

/** Bytes of a request body of the REST route. */
export const maxBodyBytes = 1024 * 1024;

/** Bytes of a request body that brings rows. */
export const maxRowsBytes = 64 * 1024 * 1024;

/** Requests that may wait on one connection for the response to the one ahead of them. */
export const maxPipelined = 32;

/** Milliseconds for which an idle connection stays open; longer than the minute for which proxies keep theirs. */
export const keepAliveMs = 65_000;

/** Bytes of a response that are written at a time; a client that reads this much within the time-out makes progress. */
export const pieceBytes = 128 * 1024;

/** Bytes of a response that lies ready and is written at once. Longer ones are made again each time: one would push hundreds out of memory. */
export const maxRepeatedBytes = 1024 * 1024;
