import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { categoryRequests, requestedSeconds } from '../../src/gridengine/category-requests';
import { anyCharacter } from '../support/any-character';

const read = (category: string): string[] => categoryRequests(category).map(({ name, text }) => `${name}=${text}`);

describe('categoryRequests', () => {
  it('reads the hard requests, wherever they stand', () => {
    assert.deepEqual(read(' -U staff -q all.q -l h_rt=3600,h_vmem=4G,gpu=1 -pe smp 4-8 -P bio '), [
      'h_rt=3600',
      'h_vmem=4G',
      'gpu=1',
    ]);
    assert.deepEqual(read('-l arch=lx=amd64,h_rt=1 -l h_rt=2,mem=3G'), ['arch=lx=amd64', 'h_rt=1', 'mem=3G']);
    assert.deepEqual(read('-xl h_rt=1 -l'), []);
  });

  it('leaves soft requests out', () => {
    assert.deepEqual(read('-hard -l h_vmem=1G -soft -l h_rt=60,mem_free=1G -hard -l h_cpu=5 -softly x'), [
      'h_vmem=1G',
      'h_cpu=5',
    ]);
  });

  it('leaves out requests for the master or the slave tasks alone', () => {
    assert.deepEqual(
      read(
        '-scope global -hard -l h_rt=600 -scope master -hard -l mem_free=64G -scope slave -hard -l mem_free=2G,gpu=1 -pe mpi 16',
      ),
      ['h_rt=600'],
    );
    assert.deepEqual(read('-scope master -hard -q io.q -scope global -hard -l h_vmem=1G -pe mpi 4'), ['h_vmem=1G']);
    assert.deepEqual(read('-l h_vmem=1G -scope'), ['h_vmem=1G']);
  });

  it('returns the hard requests of the global scope, wherever they stand', () => {
    const part = fc.record({
      scope: fc.constantFrom('global', 'master', 'slave'),
      strength: fc.constantFrom('hard', 'soft'),
      option: fc.constantFrom('l', 'q'),
    });
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const text = parts.map(
          ({ scope, strength, option }, index) => `-scope ${scope} -${strength} -${option} c${index}=${index}`,
        );
        const counted = parts.flatMap(({ scope, strength, option }, index) =>
          scope === 'global' && strength === 'hard' && option === 'l' ? [`c${index}=${index}`] : [],
        );
        assert.deepEqual(read(text.join(' ')), counted);
      }),
    );
  });

  it('returns each name once and no empty name, for any text', () => {
    const word = fc.oneof(
      fc.constantFrom('-l', '-soft', '-hard', '-scope', 'master', 'h_rt=1', ',', '=', 'a=b,c=d', '__proto__=1'),
      fc.string({ unit: anyCharacter }),
    );
    fc.assert(
      fc.property(fc.array(word), (words) => {
        const requests = categoryRequests(words.join(' '));
        assert.equal(new Set(requests.map(({ name }) => name)).size, requests.length);
        for (const { name } of requests) assert.notEqual(name, '');
      }),
    );
  });
});

describe('a hostile category', () => {
  it('yields at most 256 requests', () => {
    const many = Array.from({ length: 1000 }, (_, index) => `c${index}=1`).join(',');
    assert.equal(categoryRequests(`-l ${many}`).length, 256);
  });
});

describe('requestedSeconds', () => {
  const seconds = (category: string): number | null => requestedSeconds(categoryRequests(category), 'h_rt');

  it('reads seconds and hours:minutes:seconds', () => {
    assert.equal(seconds('-l h_vmem=1G,h_rt=3600'), 3600);
    assert.equal(seconds('-l h_rt=24:00:00'), 86_400);
  });

  it('returns null for INFINITY, for a value that is no time and for a missing request', () => {
    for (const text of ['INFINITY', '0', '-5', 'soon', '', '1:2']) assert.equal(seconds(`-l h_rt=${text}`), null);
    assert.equal(seconds('-l s_rt=60'), null);
  });
});
