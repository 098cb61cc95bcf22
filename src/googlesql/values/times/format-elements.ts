/** Elements that stand for several. */
export const composed: Readonly<Record<string, string>> = {
  c: '%a %b %e %T %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  R: '%H:%M',
  r: '%I:%M:%S %p',
  T: '%H:%M:%S',
  X: '%H:%M:%S',
  x: '%m/%d/%y',
};

const dateElements = 'AaBbhCDdeFGgjmQUuVWwxYy';
const clockElements = 'HIMSklpPRrTX';

/** Whether a type has an element. Others are written unchanged, and can't be parsed. */
export function isOfType(letter: string, kind: string): boolean {
  if ('%nt'.includes(letter)) return true;
  if (kind === 'TIME') return clockElements.includes(letter);
  if (kind === 'DATE') return dateElements.includes(letter);
  return (
    `${dateElements}${clockElements}cs`.includes(letter) || (kind === 'TIMESTAMP' && 'Zz'.includes(letter))
  );
}

/** An element of a format. */
export const element =
  /%(?:E(?<digits>\d+|\*)(?<unit>[Sf])|E4Y|E(?<zone>z)|E(?<era>[cCxXyY])|O(?<other>[deHImMSuUVwWy])|(?<letter>[\s\S]))/g;

/** An element to write, which may have flags of strftime, such as `%-d`; parsing has none. */
export const writtenElement = new RegExp(
  String.raw`%(?=[-_^#\d])(?<flags>[-_0^#]*)(?<width>\d*)(?:E(?=[cCxXyY])|O(?=[deHImMSuUVwWy]))?(?<flagged>[^%])|%(?<colons>::?)z|${element.source}`,
  'g',
);
