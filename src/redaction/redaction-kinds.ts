/** Kinds of personal data that can be replaced (contract 9.5). */
export const redactionKinds = ['ipv4', 'ipv6', 'email', 'bearer', 'jwt'] as const;

export type RedactionKind = (typeof redactionKinds)[number];

/** The text that replaces personal data (contract 9.1). */
export const replacement = 'REDACTED';
