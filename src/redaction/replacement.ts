/** The text that replaces personal data (contract 9.1). */
export const replacement = 'REDACTED';
