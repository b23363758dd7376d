import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { XMLParser } from 'fast-xml-parser';
import { XmlScanner } from '../../../src/gridengine/xml/scan';
import { TAG_LIMIT, TEXT_LIMIT } from '../../../src/gridengine/xml/tags';
import { anyCharacter } from '../../support/any-character';

/** Everything that a handler can learn, in order: `<name a=..`, `>name: text`, `.text`. */
function events(input: string | Uint8Array, cuts: readonly number[] = []): readonly string[] {
  const lines: string[] = [];
  const scanner = new XmlScanner({
    open: (name, place) =>
      lines.push(`before ${JSON.stringify(place.text())}`, `<${name} a=${String(place.attribute('a'))}`),
    close: (name, place) => lines.push(`>${name}: ${JSON.stringify(place.text())} ${place.number()}`),
    end: (place) => lines.push(`.${JSON.stringify(place.text())}`),
  });
  const bytes = typeof input === 'string' ? Buffer.from(input) : input;
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (const [index, to] of places.slice(1).entries()) {
    // The buffer is overwritten, as a stream's may be.
    const piece = Buffer.from(bytes.subarray(places[index], to));
    scanner.write(piece);
    piece.fill(0x3c);
  }
  scanner.end();
  return lines;
}

const leaf = (text: string | Uint8Array): string | undefined => {
  const all = Buffer.concat([Buffer.from('<t>'), Buffer.from(text as string), Buffer.from('</t>')]);
  return events(all).find((line) => line.startsWith('>'));
};

describe('XmlScanner', () => {
  it('reports tags, text and attributes in order', () => {
    assert.deepEqual(events(`<?xml version='1.0'?>\n<r a='1'><x a="b c"/><y>2.5</y>\n</r>\n`), [
      'before "\\n"',
      '<r a=1',
      'before ""',
      '<x a=b c',
      '>x: "" NaN',
      'before ""',
      '<y a=null',
      '>y: "2.5" 2.5',
      '>r: "\\n" NaN',
      '."\\n"',
    ]);
  });

  it('accepts empty names and end tags that match no start tag', () => {
    assert.deepEqual(
      events('<><a>1</b></></>').filter((line) => !line.startsWith('before')),
      ['< a=null', '<a a=null', '>b: "1" 1', '>: "" NaN', '>: "" NaN', '.""'],
    );
  });

  it('replaces entities once, and the escape of Grid Engine for "<"', () => {
    const cases: readonly (readonly [string, string])[] = [
      ['a%lt;b', 'a<b'],
      ['weird%lt;&amp;&quot;&gt;x', 'weird<&">x'],
      ['&amp;lt; &apos;&#65;&#x42;', "&lt; 'AB"],
      ['&nbsp; &; & &#xD800; &#1114112; 100%', '&nbsp; &; & &#xD800; &#1114112; 100%'],
      ['<![CDATA[<&amp;]]]]>', '<&amp;]]'],
      ['a<!-- <x> -- > -->b<?x <y> ?>c<![CDATA[>]]>d', 'abc>d'],
    ];
    for (const [written, meant] of cases) assert.equal(leaf(written), `>t: ${JSON.stringify(meant)} NaN`);
  });

  it('keeps raw control characters, and reads Latin-1 where a text is no UTF-8', () => {
    assert.equal(leaf('\x01\x1b[31m\0'), `>t: ${JSON.stringify('\x01\x1b[31m\0')} NaN`);
    assert.equal(leaf('Jürgen €'), '>t: "Jürgen €" NaN');
    assert.equal(leaf(Buffer.from('Jürgen', 'latin1')), '>t: "Jürgen" NaN');
    const both = Buffer.concat([Buffer.from('<t>ü</t><t>'), Buffer.from('ü', 'latin1'), Buffer.from('</t>')]);
    assert.equal(events(both).filter((line) => line === '>t: "ü" NaN').length, 2);
  });

  it('reads numbers as Grid Engine prints them, and nothing else as a number', () => {
    const numbers = [
      '0.000000',
      '12',
      '-3.25',
      '1.23e+05',
      ' 7\n',
      '5368709120.000000',
      '9007199254740993',
      '+1',
      '.5',
    ];
    for (const text of numbers)
      assert.equal(leaf(text)?.split(' ').at(-1), String(Number(text)), `${text} is a number`);
    for (const text of ['', '-', '.', '0x10', 'nan', 'INFINITY', '1 2', '1.2.3', '1G'])
      assert.equal(leaf(text)?.split(' ').at(-1), 'NaN', `${text} is none`);
  });

  it('finds attributes in either quotes, beside others, with entities in them', () => {
    const attribute = (tag: string): string | undefined => events(tag).find((line) => line.startsWith('<'));
    assert.equal(attribute(`<x b='a="1"' a = "it's" c=''>`), `<x a=it's`);
    assert.equal(attribute(`<x a='&lt;%lt;&#39;'>`), `<x a=<<'`);
    assert.equal(attribute(`<x a='1 > 0'/>`), '<x a=1 > 0');
    assert.equal(attribute('<x a>'), '<x a=');
    assert.equal(attribute('<x a=1 b=2>'), '<x a=1');
    assert.equal(attribute('<x aa="1">'), '<x a=null');
  });

  it('takes a "<" that begins no tag as text, and ends a broken tag before the next', () => {
    assert.equal(leaf('1 < 2 <3 <- <'), `>t: ${JSON.stringify('1 < 2 <3 <- <')} NaN`);
    assert.deepEqual(
      events(`<a b='1><c>2</c><d <e/>`).filter((line) => !line.startsWith('before')),
      ['<a a=null', '<c a=null', '>c: "2" 2', '<d a=null', '<e a=null', '>e: "" NaN', '.""'],
    );
  });

  it('reports the text before and after the document', () => {
    const lines = events('denied: host "x" is no submit host\n<r></r>trailing\n');
    assert.equal(lines[0], `before ${JSON.stringify('denied: host "x" is no submit host\n')}`);
    assert.equal(lines.at(-1), '."trailing\\n"');
  });

  it('bounds the length of a text and of a tag', () => {
    const long = 'x'.repeat(TEXT_LIMIT - 1);
    const text = `<t>${long}üü</t>`;
    const tag = `<t b='${'y'.repeat(TAG_LIMIT)}' a='1'></t>`;
    for (const cuts of [[], [700_000, 900_000, 1_048_580]]) {
      assert.equal(events(text, cuts).find((line) => line.startsWith('>'))?.length, long.length + '>t: "" NaN'.length);
      assert.equal(
        events(tag, cuts.slice(0, 0)).find((line) => line.startsWith('<')),
        '<t a=null',
      );
    }
    assert.equal(
      events(tag, [TAG_LIMIT]).find((line) => line.startsWith('<')),
      '<t a=null',
    );
    const parts = `<t>${`${long}<!-- -->`.repeat(3)}</t>`;
    assert.equal(events(parts).find((line) => line.startsWith('>'))?.length, TEXT_LIMIT + '>t: "" NaN'.length);
  });

  const fragments = fc.constantFrom(
    ...[
      '<',
      '>',
      '/',
      '</',
      '<a',
      '<>',
      '</>',
      "'",
      '"',
      '=',
      ' a=',
      '&lt;',
      '%lt;',
      '&#2',
      '4;',
      '<!',
      '<!--',
      '-',
      '-->',
      '<![CDATA[',
      ']',
      ']]>',
    ],
    ...[
      '<?',
      '?>',
      '<!DOCTYPE x [',
      'ü',
      '€',
      '\xe4',
      '1',
      '.5',
      ' ',
      '\n',
      '\0',
      '<a>',
      '</a>',
      '<b/>',
      'x'.repeat(40),
    ],
  );
  const documents = fc
    .array(fc.oneof({ weight: 8, arbitrary: fragments }, fc.string({ unit: anyCharacter })), { maxLength: 40 })
    .chain((parts) => fc.constantFrom<BufferEncoding>('utf8', 'latin1').map((as) => Buffer.from(parts.join(''), as)));

  it('reports the same wherever the bytes are cut into pieces', () => {
    fc.assert(
      fc.property(documents, fc.array(fc.nat(400), { maxLength: 12 }), (bytes, cuts) => {
        const whole = events(bytes);
        const within = cuts.filter((cut) => cut <= bytes.length);
        assert.deepEqual(events(bytes, within), whole);
        assert.deepEqual(events(bytes, Array.from(bytes.keys())), whole);
      }),
      { numRuns: 400 },
    );
  });

  it('reads any bytes without an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        assert.ok(events(bytes).length >= 1);
      }),
      { numRuns: 300 },
    );
  });

  it('reads what fast-xml-parser reads of well-formed documents', () => {
    interface Node {
      readonly name: string;
      readonly attributes: Readonly<Record<string, string>>;
      readonly content: string | readonly Node[];
    }
    const name = fc
      .stringMatching(/^[A-Za-z_][A-Za-z0-9_.-]{0,11}$/)
      .filter((own) => !/^(xml|__proto__|constructor)/i.test(own));
    const text = fc
      .string({
        unit: fc.oneof(
          fc.constantFrom('<', '>', '&', '"', "'", 'ü', '€', '😀', ' ', '\n'),
          fc.string({ minLength: 1, maxLength: 1, unit: 'grapheme-ascii' }),
        ),
      })
      .filter((own) => !own.includes('%lt;'));
    const { node } = fc.letrec<{ node: Node }>((tie) => ({
      node: fc.record({
        name,
        attributes: fc.dictionary(name, text, { maxKeys: 3, noNullPrototype: true }),
        content: fc.oneof({ maxDepth: 4 }, text, fc.array(tie('node'), { maxLength: 4 })),
      }),
    }));
    const escaped = (own: string): string =>
      own.replace(/[<>&"']/g, (sign) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' })[sign] ?? '&apos;');
    const written = ({ name: tag, attributes, content }: Node): string => {
      const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`);
      const inner = typeof content === 'string' ? escaped(content) : content.map(written).join('');
      return inner === '' ? `<${tag}${list.join('')}/>` : `<${tag}${list.join('')}>${inner}</${tag}>`;
    };
    const parser = new XMLParser({
      preserveOrder: true,
      ignoreAttributes: false,
      attributeNamePrefix: '',
      parseTagValue: false,
      parseAttributeValue: false,
      trimValues: false,
    });

    type Ordered = Readonly<Record<string, unknown>>;
    const theirs = (list: readonly Ordered[], names: readonly string[]): readonly unknown[] =>
      list.map((own) => {
        if ('#text' in own) return String(own['#text']);
        const tag = Object.keys(own).find((key) => key !== ':@') ?? '';
        const attributes = (own[':@'] ?? {}) as Readonly<Record<string, string>>;
        return [tag, names.map((key) => attributes[key] ?? null), theirs(own[tag] as readonly Ordered[], names)];
      });
    const ours = (document: string, names: readonly string[]): readonly unknown[] => {
      const stack: unknown[][] = [[]];
      const scanner = new XmlScanner({
        open: (tag, place) => {
          const inner: unknown[] = [];
          stack.at(-1)?.push([tag, names.map((key) => place.attribute(key)), inner]);
          stack.push(inner);
        },
        close: (_, place) => {
          const inner = stack.pop();
          if (inner?.length === 0 && place.text() !== '') inner.push(place.text());
        },
      });
      scanner.write(Buffer.from(document));
      scanner.end();
      return stack[0] ?? [];
    };
    const namesOf = ({ attributes, content }: Node): readonly string[] => [
      ...Object.keys(attributes),
      ...(typeof content === 'string' ? [] : content.flatMap(namesOf)),
    ];

    fc.assert(
      fc.property(node, (root) => {
        const document = written(root);
        const names = [...new Set(namesOf(root))];
        assert.deepEqual(ours(document, names), theirs(parser.parse(document) as readonly Ordered[], names));
      }),
      { numRuns: 300 },
    );
  });
});
