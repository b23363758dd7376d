import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  complexesOfKind,
  memoryComplexes,
  readMemoryComplexes,
  requestOrderOf,
  reservedConsumables,
  withoutValue,
} from '../../src/gridengine/memory-consumables';
import type { Qconf } from '../../src/gridengine/qconf';

/** Complexes as `qconf -sc` of 8.1.9 prints them, some of them the site's own. */
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

describe('memory complexes', () => {
  const complexes = memoryComplexes(SC);

  it('have the type MEMORY and can be requested', () => {
    assert.deepEqual(
      complexes.map(({ name, consumable, preset }) => `${name} ${consumable} ${preset}`),
      [
        'h_vmem JOB 1G',
        'mem_free YES 0',
        'mem_total NO 0',
        'ram_gb HOST 0',
        'site_mem YES 2G',
        'scratch YES 0',
        'gpu_mem YES 0',
      ],
    );
  });

  it('can be selected by the kind of consumable, JOB or HOST', () => {
    assert.deepEqual(complexesOfKind('JOB', complexes), ['h_vmem']);
    assert.deepEqual(complexesOfKind('HOST', complexes), ['ram_gb']);
  });

  /** The qconf of a cell with two hosts and two queues; `asked` collects the options of each call. */
  function cellWith(values: Readonly<Record<string, string>>, asked: string[] = []): Qconf {
    const lists: Readonly<Record<string, string>> = { '-sc': SC, '-sel': 'ge1\nge2\n', '-sql': 'all.q\nbig.q\n' };
    return ([option = '', object = '']) => {
      asked.push(`${option} ${object}`.trim());
      const shown = `hostname ${object}\nload_scaling NONE\ncomplex_values        ${values[object] ?? 'NONE'}\n`;
      return Promise.resolve({ status: 0, stdout: lists[option] ?? shown, stderr: '' });
    };
  }

  it('are offered where the cluster, a host or a queue has a value for them', async () => {
    const values = {
      global: 'scratch=9T',
      ge1: 'h_vmem=64G,slots=8,gpu_mem=1G',
      ge2: 'site_mem=64G',
      'big.q': 'NONE,[ge2=ram_gb=64G]',
    };
    const found = await readMemoryComplexes(cellWith(values));
    assert.deepEqual(
      found.filter(({ isOffered }) => !isOffered).map(({ name }) => name),
      ['mem_free'],
    );
  });

  it('are asked of qconf only until a value is found for each', async () => {
    const asked: string[] = [];
    await readMemoryComplexes(
      cellWith({ ge1: 'h_vmem=1G,mem_free=1G,ram_gb=1G,site_mem=1G,scratch=1G,gpu_mem=1G' }, asked),
    );
    assert.deepEqual(asked, ['-sc', '-se global', '-sel', '-se ge1']);
  });

  it("that hosts have a value for come before limits that reserve nothing and load values, the site's own first", async () => {
    const found = await readMemoryComplexes(cellWith({ ge2: 'mem_free=64G,site_mem=64G' }));
    assert.deepEqual(reservedConsumables(found), ['site_mem', 'mem_free']);
    assert.deepEqual(withoutValue(found), ['h_vmem', 'ram_gb']);
    const order = requestOrderOf(found);
    assert.deepEqual(order.slice(0, 5), ['site_mem', 'mem_free', 'h_vmem', 's_vmem', 'h_rss']);
    const withLimit = await readMemoryComplexes(cellWith({ ge2: 'mem_free=64G,h_vmem=64G' }));
    assert.deepEqual(requestOrderOf(withLimit).slice(0, 3), ['h_vmem', 'mem_free', 's_vmem']);
    assert.ok(!order.includes('ram_gb'), order.join());
    assert.equal(new Set(order).size, order.length);
  });

  it('are not found in a malformed line, and any text can be read', () => {
    fc.assert(fc.property(fc.string(), (text) => Array.isArray(memoryComplexes(text))));
    assert.deepEqual(memoryComplexes('MEMORY MEMORY MEMORY\n'), []);
  });
});
