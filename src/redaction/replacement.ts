/** What stands in place of personal data (contract section 9). */
export const replacement = 'REDACTED';
