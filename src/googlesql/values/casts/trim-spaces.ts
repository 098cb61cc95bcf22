/**
 * A text without the white space of ASCII around it. In linear time: without the lookbehind each space of a long run inside would be
 * tried as the first of the last ones.
 */
export const trimSpaces = (text: string): string => text.replace(/^[\t-\r ]+|(?<![\t-\r ])[\t-\r ]+$/g, '');
