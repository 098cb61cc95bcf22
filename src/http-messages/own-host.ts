/** The names of this machine in URLs and in headers such as Host and Origin, as part of a regular expression. Names under which others reach it are not among them. */
export const ownHost = String.raw`(?:localhost|127\.0\.0\.1|\[::1\])`;
