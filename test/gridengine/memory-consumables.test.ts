import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  memoryComplexes,
  ownMemoryConsumables,
  perJobComplexes,
  requestOrderOf,
} from '../../src/gridengine/memory-consumables';

/** As `qconf -sc` of 8.1.9 prints them, with some of a site's own. */
const SC = `#name               shortcut   type        relop requestable consumable default  urgency
#--------------------------------------------------------------------------------------
arch                a          RESTRING    ==    YES         NO         NONE     0
h_rt                h_rt       TIME        <=    YES         NO         0:0:0    0
h_vmem              h_vmem     MEMORY      <=    YES         JOB        1G       0
mem_free            mf         MEMORY      <=    YES         YES        0        0
mem_total           mt         MEMORY      <=    YES         NO         0        0
ram_gb              ram        MEMORY      <=    YES         HOST       0        0
site_mem            sm         MEMORY      <=    FORCED      YES        2G       0
scratch             scr        MEMORY      <=    YES         YES        0        0
gpu_mem             gm         MEMORY      <=    YES         YES        0        0
tasks_mem           tm         INT         <=    YES         YES        0        0
hidden_mem          hm         MEMORY      <=    NO          YES        0        0
# >#< starts a comment but comments are not saved across edits --------
`;

describe('complexes of memory', () => {
  const complexes = memoryComplexes(SC);

  it('are those of type MEMORY that can be requested', () => {
    assert.deepEqual(
      complexes.map(({ name, consumable, preset }) => `${name} ${consumable} ${preset}`),
      [
        'h_vmem JOB 1G',
        'mem_free YES 0',
        'mem_total NO 0',
        'ram_gb JOB 0',
        'site_mem YES 2G',
        'scratch YES 0',
        'gpu_mem YES 0',
      ],
    );
  });

  it('are requested once for the job where they are of kind JOB, or HOST', () => {
    assert.deepEqual(perJobComplexes(complexes), ['h_vmem', 'ram_gb']);
  });

  it("a site's own consumables come after what is enforced and before what is only reserved", () => {
    assert.deepEqual(ownMemoryConsumables(complexes), ['ram_gb', 'site_mem']);
    const order = requestOrderOf(complexes);
    assert.ok(order.indexOf('h_vmem') < order.indexOf('ram_gb'), order.join());
    assert.ok(order.indexOf('site_mem') < order.indexOf('mem_free'), order.join());
    assert.equal(new Set(order).size, order.length);
  });

  it('are none in anything else', () => {
    fc.assert(fc.property(fc.string(), (text) => Array.isArray(memoryComplexes(text))));
    assert.deepEqual(memoryComplexes('MEMORY MEMORY MEMORY\n'), []);
  });
});
