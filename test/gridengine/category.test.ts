import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseCategory, requestedSeconds } from '../../src/gridengine/category';

describe('parseCategory', () => {
  it('reads the hard requests and the parallel environment', () => {
    const category = parseCategory(' -U staff,deadlineusers -q all.q -l h_rt=3600,h_vmem=4G,gpu -pe smp 4-8 -P bio ');
    assert.deepEqual(
      [...category.requests],
      [
        ['h_rt', '3600'],
        ['h_vmem', '4G'],
        ['gpu', 'TRUE'],
      ],
    );
    assert.deepEqual(category.pe, { name: 'smp', range: '4-8' });
    assert.equal(requestedSeconds(category, 'h_rt'), 3600);
    assert.equal(requestedSeconds(category, 's_rt'), null);
  });

  it('leaves wishes out, and takes the last of several', () => {
    const category = parseCategory('-l h_rt=24:00:00 -soft -l h_rt=60 -hard -l h_vmem=1G,h_rt=1:0:0,arch=lx=amd64');
    assert.equal(requestedSeconds(category, 'h_rt'), 3600);
    assert.equal(category.requests.get('arch'), 'lx=amd64');
  });

  it('takes what is unlimited or no time for no limit', () => {
    for (const text of ['INFINITY', '0', '-5', 'soon', '', '1:2'])
      assert.equal(requestedSeconds(parseCategory(`-l h_rt=${text}`), 'h_rt'), null);
  });

  it('never throws, whatever it is given', () => {
    const word = fc.oneof(
      fc.constantFrom('-l', '-pe', '-soft', '-hard', 'h_rt=1', ',', '=', 'a=b,c=d', '__proto__=1'),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const { requests, pe } = parseCategory(words.join(' '));
        for (const [complex] of requests) assert.notEqual(complex, '');
        assert.ok(pe === null || pe.name !== '');
      }),
    );
  });
});
