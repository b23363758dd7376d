import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cutLine, drawFrame } from '../../../src/cli/watch/frame';
import { displayWidth } from '../../../src/report/screen/text-width';

const RED = '\u001b[31m';
const END = '\u001b[39m';

describe('cutLine', () => {
  it('cuts the text that is shown, but no colour codes', () => {
    assert.equal(cutLine('abcdef', 6), 'abcdef');
    assert.equal(cutLine('abcdef', 3), 'abc');
    assert.equal(cutLine(`a${RED}bcd${END}ef`, 3), `a${RED}bc${END}`);
    assert.equal(cutLine(`日${RED}本${END}x`, 3), `日${RED}${END}`);
    assert.equal(cutLine('abc', 0), '');
  });

  it('never leaves more than fits, and keeps every colour code', () => {
    const piece = fc.oneof(fc.constantFrom(RED, END), fc.string({ unit: fc.constantFrom('a', '日', '–', ' ') }));
    fc.assert(
      fc.property(fc.array(piece), fc.nat({ max: 20 }), (pieces, width) => {
        const cut = cutLine(pieces.join(''), width);
        assert.ok(displayWidth(cut) <= width);
        const codes = (text: string): number => text.split('\u001b').length;
        assert.equal(codes(cut), codes(pieces.join('')));
      }),
    );
  });
});

describe('drawFrame', () => {
  it('draws everything at first, then only lines that differ', () => {
    const first = drawFrame(null, ['one', 'two'], 80, 24);
    assert.equal(first.text, '\u001b[2J\u001b[1;1H\u001b[2Kone\u001b[0m\u001b[2;1H\u001b[2Ktwo\u001b[0m');
    const second = drawFrame(first.drawn, ['one', 'TWO'], 80, 24);
    assert.equal(second.text, '\u001b[2;1H\u001b[2KTWO\u001b[0m');
    assert.equal(drawFrame(second.drawn, ['one', 'TWO'], 80, 24).text, '');
  });

  it('erases the rest below a shorter frame, and redraws everything at another width', () => {
    const { drawn } = drawFrame(null, ['one', 'two', 'three'], 80, 24);
    assert.equal(drawFrame(drawn, ['one'], 80, 24).text, '\u001b[2;1H\u001b[J');
    assert.ok(drawFrame(drawn, ['one'], 79, 24).text.startsWith('\u001b[2J'));
  });

  it('stays within the screen', () => {
    const { drawn } = drawFrame(null, ['abcdef', 'second', 'third'], 4, 2);
    assert.deepEqual(drawn.lines, ['abcd', 'seco']);
  });
});
