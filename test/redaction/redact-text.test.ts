import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redactText } from '../../src/redaction/redact-text.ts';
import { redactionKinds } from '../../src/redaction/redaction-kinds.ts';
import { redactPlainly } from './plain-redaction.ts';

describe('contract 9.2, 9.4: replaces', () => {
  test.each([
    ['[2001:db8::1]:443', '[REDACTED]:443'],
    ['ip=2001:db8::1,', 'ip=REDACTED,'],
    ['{"a":"::1"}', '{"a":"REDACTED"}'],
    ['::ffff:10.0.0.1', 'REDACTED'],
    ['64:ff9b::1.2.3.4', 'REDACTED'],
    ['1:2:3:4:5:6:10.0.0.1', 'REDACTED'],
    ['fe80::1%eth0 up', 'REDACTED up'],
    ['2001:DB8:0:0:0:0:0:1', 'REDACTED'],
    ['2001:db8:0:0:0:0:0:1:443', 'REDACTED'],
    ['2001:db8::1: gone', 'REDACTED: gone'],
    ['addr:::1', 'addr:REDACTED'],
    ['a:a:: up', 'REDACTED up'],
    ['dead::beef', 'REDACTED'],
    ['ip:2001:db8::1', 'ip:REDACTED'],
    ['2001:db8::/32', 'REDACTED/32'],
    ['?ip=2001%3Adb8%3A%3A1', '?ip=REDACTED'],
    ['%5B2001:db8::1%5D', '%5BREDACTED%5D'],
    ['10.0.0.0/8', 'REDACTED/8'],
    ['from 010.001.002.003.', 'from REDACTED.'],
    ['10.0.0.1-10.0.0.9', 'REDACTED-REDACTED'],
    ['10.0.0.1-preauth', 'REDACTED-preauth'],
    ['http://10.0.0.1:80/', 'http://REDACTED:80/'],
    ['GET /ip/10.0.0.1', 'GET /ip/REDACTED'],
    ['localhost/127.0.0.1:80', 'localhost/REDACTED:80'],
    ['来自10.0.0.1的', '来自REDACTED的'],
    [String.raw`{"a":"\n10.0.0.1"}`, String.raw`{"a":"\nREDACTED"}`],
    ['ip%3D10.0.0.1', 'ip%3DREDACTED'],
    ['a%2010.0.0.1', 'a%20REDACTED'],
    ['<ada.lovelace+x@mail.example.com>', '<REDACTED>'],
    ["'o'brien@example.com'", "'REDACTED'"],
    ['?to=ada%40example.com&x', '?to=REDACTED&x'],
    ['jürgen@exämple.de', 'REDACTED'],
    ['Authorization: Bearer abc.def-123_=', 'Authorization: Bearer REDACTED'],
    ['bearer%20abc', 'bearer%20REDACTED'],
    ['token=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln;', 'token=REDACTED;'],
    ['eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.', 'REDACTED'],
  ])('%s', (text, expected) => {
    expect(redactText(text)).toBe(expected);
  });
});

describe('contract 9.3: leaves', () => {
  test.each([
    'v1.2.3.4',
    '1.2.3.4.5',
    '1.2.3.4-beta',
    '1.2.3.4-RC2',
    '1.2.3.4-prerelease.1',
    '1.2.3.4rc1',
    'curl/1.2.3.4',
    'Mozilla/5.0 Chrome/120.0.0.0 Safari/537.36',
    '256.1.1.1',
    '1200.0.0.1',
    '12:34:56',
    '2026-01-15T12:34:56.123456+00:00',
    '00:1b:44:11:3a:b7',
    '00:1b:44:ff:fe:11:3a:b7',
    'SHA1 aa:bb:cc:dd:ee:ff:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd',
    'std::string',
    'a::b',
    '::',
    'std::decay',
    "'2026'::date",
    '123e4567-e89b-12d3-a456-426614174000',
    'da39a3ee5e6b4b0d3255bfef95601890afd80709',
    'logo@2x.png',
    'react@18.2.0',
    'the bearer token is missing',
    'Bearer realm="x"',
    'www-authenticate: Bearer error="invalid_token"',
    'eyJhbGciOiJIUzI1NiJ9',
  ])('%s', text => {
    expect(redactText(text)).toBe(text);
  });
});

test('each kind can be switched off alone', () => {
  const samples = {
    ipv4: '10.0.0.1',
    ipv6: '2001:db8::1',
    email: 'ada@example.com',
    bearer: 'Bearer abc',
    jwt: 'eyJhbGci.eyJzdWIi.c2ln',
  };
  const text = Object.values(samples).join(' | ');
  for (const [kind, sample] of Object.entries(samples)) {
    const others = redactionKinds.filter(each => each !== kind);
    const redacted = redactText(text, others);
    const kept = Object.values(samples).filter(each => redacted.includes(each));
    expect(kept).toEqual([sample]);
  }
});

// Not `.`, `%`, letters and digits, which may make it another word; nor a colon or dash, which may belong to it.
const punctuation = fc.constantFrom(...' \t\n"\'`()[]{}<>,;=!?#&*+|~^$@\\_/', '');

test('no IPv4 address survives, whatever punctuation is around it', () => {
  fc.assert(
    fc.property(punctuation, fc.ipV4(), punctuation, (before, ip, after) => {
      expect(redactText(before + ip + after)).toBe(`${before}REDACTED${after}`);
    }),
  );
});

test('no IPv6 address survives, whatever punctuation is around it', () => {
  const isAmbiguous = (ip: string) =>
    ip === '::' || /^[a-f]{1,4}::[a-f]{0,4}$/i.test(ip) || /^(?:[0-9a-f]{2}:){7}[0-9a-f]{2}$/i.test(ip);
  fc.assert(
    fc.property(
      punctuation,
      fc.ipV6().filter(ip => !isAmbiguous(ip)),
      punctuation,
      (before, ip, after) => {
        expect(redactText(before + ip + after)).toBe(`${before}REDACTED${after}`);
      },
    ),
  );
});

const fragment = fc.constantFrom(
  ...[
    '10.0.0.1',
    '::1',
    '2001:db8::1',
    'a@b.com',
    'eyJa.eyJb.c',
    'Bearer ',
    'REDACTED',
    'x',
    '1',
    'f',
    '.com',
  ],
  ...['.', ':', '@', '%', '%40', '%3A', '/', '-', ' ', '\\n', "'", '=', '~'],
);

test('a second run changes nothing', () => {
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 12 }), parts => {
      const once = redactText(parts.join(''));
      expect(redactText(once)).toBe(once);
    }),
    { numRuns: 3000 },
  );
});

test('text of words alone is unchanged', () => {
  const word = fc.stringMatching(/^[g-zG-Z]{1,8}$/).filter(text => !/bearer/i.test(text));
  fc.assert(
    fc.property(fc.array(word), fc.constantFrom(' ', '::', ':', '.', '/', '-'), (words, separator) => {
      const text = words.join(separator);
      expect(redactText(text)).toBe(text);
    }),
  );
});

test('no escape before an address hides it', () => {
  const address = fc.constantFrom('2001:db8::1', 'fe80::1', '10.0.0.1', 'dead:beef::1');
  const start = fc.constantFrom(
    ...['b', 'f', 'n', 'r', 't', 'u000a', 'u001f'].map(each => `\\${each}`),
    ...['%20', '%5B', '%3D', '%40', '%0a'],
  );
  fc.assert(
    fc.property(start, address, (before, ip) => {
      expect(redactText(before + ip)).toBe(`${before}REDACTED`);
    }),
  );
});

describe('equals the plain reference', () => {
  const part = fc.oneof(
    fragment,
    fc.constantFrom(
      ...['12345', 'abcd', 'aa', 'g', 'é', '_', '::', '%3a', '%5B', '3A', '\\f', '\\u0020', '~', '+', ','],
      ...['1.', '.1.2.3', '256.1.1.1', 'fe80::1%eth0', '1:2:3:4:5:6:7:8', 'aa:bb:cc:dd:ee:ff:00:11'],
      ...['.com', '@b', 'xn--a', '2x.png', 'eyJ', 'curl/', 'ip/', '-rc'],
    ),
  );
  const text = fc.array(part, { maxLength: 14 }).map(parts => parts.join(''));

  test.each([
    ...redactionKinds.filter(kind => kind !== 'bearer').map(kind => [kind]),
    ['jwt', 'ipv6', 'ipv4', 'email'],
  ] as const)('for %s %s %s %s', (...kinds) => {
    const chosen = kinds.filter(kind => kind !== undefined);
    fc.assert(
      fc.property(text, each => {
        expect(redactText(each, chosen)).toBe(redactPlainly(each, chosen));
      }),
      { numRuns: 5000 },
    );
  });
});

/** Texts of one unit over and over; each has cost one recogniser or another more than its share. */
const hostile = [
  ...[
    ':',
    '::',
    ':a',
    '::a',
    'a:a::',
    '1:',
    'aa:',
    'aaaaa:',
    'deadbeef:',
    '%3A',
    '1%3A',
    '1::',
    '::1.',
    'f:1.',
  ],
  ...['1:2:3:4:5:6:7:8:', '::ffff:1.2.3.4', 'fe80::1%', 'fe80::1%a', '10.0.0.1.f::1', '2001:db8::1,'],
  ...['.', '1.', '1', 'a', '0', '255.', '1.2.3.4 ', 'curl/1.2.3.4 ', '\\n10.0.0.1', '\\u00201.1.1.1'],
  ...['@', 'a@', 'a.', '@a.', 'a@b.', 'a@a.1.', 'a@b.com', 'é@é.é', 'a-', 'a%40', 'xn--', "'"],
  ...['eyJ', 'eyJ.', 'eyJa.', 'eyJa.eyJb.', 'eyJ-', 'Bearer ', 'bearer', 'Bearer a=', 'Bearer.', 'bearer+'],
  ...['\\', '%', '%20', 'a1:b.', 'abcdef0123456789', 'f:', '0:0.0.'],
];

/** In front of it and behind it: a recogniser may look back, or on to the end. */
const neighbours = ['', '@', '10.0.0.1', '::1', 'a@b.com', 'Bearer ', 'eyJa.'];

test.each(hostile)('time is linear in the length of %j over and over', unit => {
  const timeMs = (length: number) => {
    const body = unit.repeat(length / unit.length);
    const texts = neighbours.flatMap(other => [other + body, body + other]);
    const before = process.threadCpuUsage();
    for (const text of texts) redactText(text);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  const isLinear = () => {
    const shortMs = Math.max(timeMs(10_000), 2);
    return timeMs(20_000) / shortMs < 4 && timeMs(40_000) / shortMs < 9;
  };
  // Four times the text: 4 where linear, 16 where quadratic. Time of the processor, which other processes hardly change.
  expect([1, 2, 3, 4].some(isLinear)).toBe(true);
});
