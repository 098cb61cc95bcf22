import fc from 'fast-check';

/** Texts that are JSON, nearly JSON, or cut off, and what BigQuery's functions read in them. */
export function randomJsonQueries(): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.array(randomTexts(), { minLength: 1, maxLength: 20 }),
      fc.tuple(...Array.from({ length: 4 }, () => fc.constantFrom(...paths))),
    )
    .map(([texts, [path, ...others]]) => {
      const calls = functions.map((name, at) => `${name}(t, ${literal(path!)}) as v${at}`);
      // Several values of one text, and one of a text that is calculated.
      const values = others.map((other, at) => `json_value(t, ${literal(other)}) as w${at}`);
      const list = [...calls, ...values, `json_value(concat(t, ''), ${literal(path!)}) as x`].join(', ');
      return `select ${list} from unnest([${texts.map(literal).join(', ')}]) as t with offset as o order by o`;
    });
}

const functions = ['json_value', 'json_query', 'json_value_array', 'json_query_array'];

const paths = [
  '$', '$.a', '$.b', '$.a.b', '$.a.a', '$.a[0]', '$.a[1].b', '$[0]', '$[1]', '$[0][1]', '$[1].a', '$.0', '$."a"', '$.a.1b',
]; // biome-ignore format: one list

const literal = (text: string) => JSON.stringify(text);

function randomTexts(): fc.Arbitrary<string> {
  return fc.tuple(randomValues(), randomDamage()).map(([text, damage]) => damage(text));
}

function randomValues(): fc.Arbitrary<string> {
  const { value } = fc.letrec<{ value: string; object: string; array: string; leaf: string }>(tie => ({
    value: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('object'), tie('array')),
    object: fc
      .array(fc.tuple(randomStrings('a', 'b', '0', '1', '\\u0061'), tie('value')), { maxLength: 4 })
      .map(members => `{${members.map(([key, member]) => `${key}:${member}`).join(',')}}`),
    array: fc.array(tie('value'), { maxLength: 4 }).map(elements => `[${elements.join(', ')}]`),
    leaf: fc.oneof(
      randomStrings(
        '',
        'x',
        'é',
        '1.50',
        'inf',
        '\\n',
        '\\u00e9',
        '\\ud83d\\ude00',
        '\\"',
        '\\/',
        '\u2028',
        ' NaN,',
      ),
      fc.constantFrom(
        '0',
        '-0',
        '7',
        '1.50',
        '1e3',
        '-12',
        '12345678901234567890123',
        'true',
        'false',
        'null',
      ),
      fc.constantFrom(
        'NaN',
        'Infinity',
        '-inf',
        '01',
        '1.',
        '.5',
        '+1',
        "'y'",
        "'\"'",
        'x',
        '',
        '"\\x41"',
        '"\\101"',
      ),
    ),
  }));
  return value;
}

const randomStrings = (...texts: string[]) => fc.constantFrom(...texts.map(text => `"${text}"`));

/** Most texts stay whole. */
function randomDamage(): fc.Arbitrary<(text: string) => string> {
  const place = fc.double({ min: 0, max: 1, noNaN: true });
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant((text: string) => text) },
    { weight: 2, arbitrary: place.map(at => (text: string) => text.slice(0, Math.floor(at * text.length))) },
    { weight: 1, arbitrary: place.map(at => (text: string) => changed(text, at, 1, '')) },
    {
      weight: 2,
      arbitrary: fc.tuple(place, fc.constantFrom(...'{}[]",\':\\x0-.e \n', ' x', '/*c*/')).map(
        ([at, inserted]) =>
          (text: string) =>
            changed(text, at, 0, inserted),
      ),
    },
  );
}

function changed(text: string, place: number, deleted: number, inserted: string): string {
  const at = Math.floor(place * text.length);
  return text.slice(0, at) + inserted + text.slice(at + deleted);
}
