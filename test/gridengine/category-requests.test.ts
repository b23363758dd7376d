import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { categoryRequests } from '../../src/gridengine/category-requests';

const asTable = (category: string): Record<string, string> =>
  Object.fromEntries(categoryRequests(category).map(({ name, text }) => [name, text]));

describe('categoryRequests', () => {
  it('reads what was asked for with -l, wherever it stands', () => {
    assert.deepEqual(asTable('-U users -l h_vmem=4G,h_rt=24:00:00 -pe smp 4'), { h_vmem: '4G', h_rt: '24:00:00' });
    assert.deepEqual(asTable('-l a=1 -q all.q -l b=2,a=3'), { a: '1', b: '2' });
    assert.deepEqual(asTable('-u alice'), {});
    assert.deepEqual(asTable('x-l a=1'), {});
    assert.deepEqual(asTable('-l =1,b,c='), { c: '' });
  });

  it('takes any text, and no more than a job can ask for', () => {
    fc.assert(fc.property(fc.string(), (text) => void categoryRequests(`-l ${text}`)));
    const many = Array.from({ length: 1000 }, (_, index) => `c${index}=1`).join(',');
    assert.equal(categoryRequests(`-l ${many}`).length, 256);
  });
});
