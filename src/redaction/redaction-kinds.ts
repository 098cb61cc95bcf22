/** Kinds of personal data that can be replaced (contract section 9). */
export const redactionKinds = ['ipv4', 'ipv6', 'email', 'bearer', 'jwt'] as const;

export type RedactionKind = (typeof redactionKinds)[number];
