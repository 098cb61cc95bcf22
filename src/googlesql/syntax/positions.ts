import type { GatewayError, SqlPosition } from '../../base/errors.ts';
import { invalidQuery } from '../tree/sql-error.ts';

/** Makes a function that converts ascending offsets to lines and columns, in one walk over the text. */
export function positions(text: string): (offset: number) => SqlPosition {
  let line = 1;
  let lineStart = 0;
  let newline = text.indexOf('\n');
  return offset => {
    while (newline !== -1 && newline < offset) {
      line += 1;
      lineStart = newline + 1;
      newline = text.indexOf('\n', lineStart);
    }
    return { line, column: offset - lineStart + 1 };
  };
}

/** @param offset where the token begins that is wrong */
export function syntaxError(message: string, text: string, offset: number): GatewayError {
  return invalidQuery(`Syntax error: ${message}`, positions(text)(offset));
}
