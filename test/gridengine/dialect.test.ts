import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  detectDialect,
  dialectOfSchema,
  memoryMeaning,
  sanitisesRootHooks,
  type Dialect,
} from '../../src/gridengine/dialect';

describe('detectDialect', () => {
  const lines: readonly [string, Dialect, string | null][] = [
    ['SGE 8.1.9', 'sge8.1.9', '8.1.9'],
    ['SGE 8.1.9\n', 'sge8.1.9', '8.1.9'],
    ['SGE 8.0.0e', 'sge8.1.9', '8.0.0e'],
    ['SGE 8.1.10', 'daimh', '8.1.10'],
    ['GE 6.2u5', 'sge6.2', '6.2u5'],
    ['SGE 6.2u5p2', 'sge6.2', '6.2u5p2'],
    ['N1GE 6.1u4', 'sge6.2', '6.1u4'],
    ['OGS/GE 2011.11p1', 'ogs', '2011.11p1'],
    ['GE 2011.11', 'ogs', '2011.11'],
    ['UGE 8.6.6', 'univa', '8.6.6'],
    ['GE 8.0.1', 'univa', '8.0.1'],
    ['AGE 2023.1.1', 'univa', '2023.1.1'],
    ['OCS 9.0.2', 'ocs', '9.0.2'],
    ['GCS 9.1.0', 'ocs', '9.1.0'],
    ['error: commlib error: got select error', 'unknown', null],
    ['PBS 19.1', 'unknown', '19.1'],
    ['', 'unknown', null],
  ];
  for (const [helpFirstLine, dialect, version] of lines) {
    it(`takes ${JSON.stringify(helpFirstLine)} for ${dialect}`, () =>
      assert.deepEqual(detectDialect(helpFirstLine), { dialect, version }));
  }
});

describe('dialectOfSchema', () => {
  it('knows 6.0 to 6.2u4 by a root element that names no schema but that of XML itself', () => {
    const of = dialectOfSchema;
    assert.equal(of('http://www.w3.org/2001/XMLSchema'), 'sge6.2');
    assert.equal(of(' http://www.w3.org/2001/XMLSchema  '), 'sge6.2');
    assert.equal(of('http://www.w3.org/2001/XMLSchema-instance'), 'unknown');
    assert.equal(of('http://www.w3.org/2001/XMLSchema http://www.univa.com/qstat qstat.xsd'), 'univa');
  });

  it('recognises the schemas of qstat -xml', () => {
    const of = dialectOfSchema;
    assert.equal(
      of('http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd'),
      'sge8.1.9',
    );
    assert.equal(of('http://gridscheduler.svn.sourceforge.net/viewvc/gridscheduler/trunk/qstat.xsd'), 'ogs');
    assert.equal(of('https://raw.githubusercontent.com/hpc-gridware/clusterscheduler/master/qstat.xsd'), 'ocs');
    assert.equal(of('http://gridengine.sunsource.net/source/browse/qstat.xsd?revision=1.11'), 'sge6.2');
    assert.equal(of('   http://arc.example/other.xsd'), 'unknown');
    assert.equal(of(''), 'unknown');
  });
});

describe('sanitisesRootHooks', () => {
  it('is true for 8.1 and its fork, and false for all others', () => {
    const sanitises = (helpFirstLine: string): boolean => sanitisesRootHooks(detectDialect(helpFirstLine));
    for (const line of ['SGE 8.1.9', 'SGE 8.1.6', 'SGE 8.1.10']) assert.equal(sanitises(line), true, line);
    for (const line of ['SGE 8.0.0', 'GE 6.2u5', 'OGS/GE 2011.11p1', 'UGE 8.6.6', 'GE 8.0.1', 'OCS 9.0.2', ''])
      assert.equal(sanitises(line), false, line);
  });
});

describe('memoryMeaning', () => {
  it('is the sum of address space in 6.2 and its descendants, of resident memory and swap in 8.1.9', () => {
    assert.equal(memoryMeaning('sge6.2').maxvmem, 'vmem_sum');
    assert.equal(memoryMeaning('ogs').execdLimit, 'vmem_sum');
    assert.equal(memoryMeaning('univa').maxvmem, 'vmem_sum');
    assert.equal(memoryMeaning('sge8.1.9').maxvmem, 'rss_swap_sum');
    assert.equal(memoryMeaning('daimh').execdLimit, 'rss_swap_sum');
  });

  it('is what the control group counts where systemd keeps the jobs', () => {
    assert.equal(memoryMeaning('daimh', true).maxvmem, 'cgroup');
    assert.equal(memoryMeaning('ocs', true).maxvmem, null);
    assert.deepEqual(
      [true, false].map((systemd) => memoryMeaning('ocs', systemd).maxrss),
      ['cgroup', 'rss_sum'],
    );
  });

  it('claims nothing for an unknown dialect', () => {
    assert.deepEqual(memoryMeaning('unknown'), { maxrss: null, maxvmem: null, execdLimit: null });
  });
});
