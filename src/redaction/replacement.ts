/** What stands in place of personal data (contract 9.1). */
export const replacement = 'REDACTED';
