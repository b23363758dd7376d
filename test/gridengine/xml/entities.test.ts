import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeEntities } from '../../../src/gridengine/xml/entities';

describe('decodeEntities', () => {
  it('reads back what Grid Engine escapes, except for a text that holds %lt; itself', () => {
    const asGridEngine = (text: string): string =>
      text
        .replaceAll('&', '&amp;')
        .replaceAll('<', '%lt;')
        .replaceAll('>', '&gt;')
        .replaceAll("'", '&apos;')
        .replaceAll('"', '&quot;');
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('%lt;')),
        (text) => assert.equal(decodeEntities(asGridEngine(text)), text),
      ),
    );
    assert.equal(decodeEntities(asGridEngine('%lt;')), '<');
  });

  it('leaves text that is no entity as it is', () => {
    for (const text of ['&', '&;', '&nbsp;', '&#;', '&#x;', '&#1114112;', '&#xdfff;', '%gt;', '&amp', '&#99999999;'])
      assert.equal(decodeEntities(text), text);
    assert.equal(decodeEntities('&#128512;&#X1f600;&#10;'), '😀😀\n');
  });
});
