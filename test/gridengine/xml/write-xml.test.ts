import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';
import { decodeEntities, escapeXml } from '../../../src/gridengine/xml/entities';
import { xmlWriter } from '../../../src/gridengine/xml/write-xml';
import { HOSTILE_NAME, HOSTILE_OWNER } from '../../live/snapshots';
import { readStrictly } from './strict-reader';
import { anyCharacter } from '../../support/any-character';

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.array(fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))).map((parts) => parts.join('')),
  fc.constantFrom(HOSTILE_NAME, HOSTILE_OWNER, '%lt;', '&lt;', ']]>', '<!--', '\r\n\t', '-->', '<a b="', '&#60;', '--'),
);

/** The text with U+FFFD for each character that is not in XML 1.0's production `Char`. */
function possible(text: string): string {
  return Array.from(text, (sign) => {
    const code = sign.codePointAt(0) ?? 0;
    const isAllowed =
      [9, 10, 13].includes(code) ||
      (code >= 0x20 && code <= 0xd7ff) ||
      (code >= 0xe000 && code <= 0xfffd) ||
      code >= 0x10000;
    return isAllowed ? sign : '\ufffd';
  }).join('');
}

describe('written XML', () => {
  it('is well-formed and reads back the same, whatever text is in it', () => {
    const write = xmlWriter();
    fc.assert(
      fc.property(anyText, anyText, (text, attribute) => {
        const root = readStrictly(
          write({ tag: 'root', content: [{ tag: 'job', attributes: { name: attribute }, content: text }] }),
        );
        const [job] = root.children;
        assert.equal(job?.text, possible(text));
        assert.deepEqual(job.attributes, { name: possible(attribute) });
      }),
    );
  });

  it('is read back by decodeEntities, %lt; included', () => {
    fc.assert(fc.property(anyText, (text) => assert.equal(decodeEntities(escapeXml(text)), possible(text))));
    assert.equal(decodeEntities(escapeXml('a%lt;b<c')), 'a%lt;b<c');
  });

  it('needs fast-xml-parser, which is loaded only when XML is written', () => {
    const directory = join(packageRoot(), 'dist', 'src');
    const named = readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .flatMap((name) => readFileSync(join(directory, name), 'utf8').match(/\w+\(['"]fast-xml-parser['"]\)/g) ?? []);
    assert.deepEqual(named, ["require('fast-xml-parser')"]);
  });
});
