/** Kinds of personal data that can be replaced (contract 9.5). */
export const redactionKinds = ['ipv4', 'ipv6', 'email', 'bearer', 'jwt'] as const;

export type RedactionKind = (typeof redactionKinds)[number];
