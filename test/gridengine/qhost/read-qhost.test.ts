import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import type { QhostHost, QhostJob, QhostQueue, QhostResource } from '../../../src/gridengine/qhost/qhost-report';
import { readQhost } from '../../../src/gridengine/qhost/read-qhost';
import { anySizes, feed, garbage } from '../feed';
import { occurrences, recorded } from '../recorded';
import { qhost62, qhost819, qhostOcsXml, qhostUniva } from './qhost-samples';
import { renderQhost } from './render-qhost';

function hostsOf(answer: string | Uint8Array) {
  const { items, end } = feed(readQhost, answer);
  assert.equal(end.state, 'complete');
  return items;
}

function host(hosts: readonly QhostHost[], name: string): QhostHost {
  const found = hosts.find((one) => one.name === name);
  assert.ok(found !== undefined, `${name} in ${hosts.map((one) => one.name).join(' ')}`);
  return found;
}

describe('readQhost', () => {
  it('reads a host of 8.1.9 with resources, queues and jobs', () => {
    const hosts = hostsOf(qhost819);
    assert.deepEqual(
      hosts.map(({ name }) => name),
      ['node01', 'node02'],
    );
    const { resources, queues, jobs, ...node01 } = host(hosts, 'node01');
    assert.deepEqual(node01, {
      name: 'node01',
      architecture: 'lx-amd64',
      processors: 16,
      sockets: 2,
      cores: 8,
      threads: 16,
      load: 3.07,
      memoryTotal: Math.round(93.1 * 2 ** 30),
      memoryUsed: Math.round(984.1 * 2 ** 20),
      swapTotal: 2 ** 40,
      swapUsed: 0,
      processorsText: '16',
      memoryTotalText: '93.1G',
    });
    assert.deepEqual(resources, [
      { name: 'h_vmem', dominance: 'hc', value: '12.000G' },
      { name: 'arch', dominance: 'hl', value: 'lx-amd64' },
    ]);
    assert.deepEqual(queues, [
      { name: 'all.q', type: 'BIP', slotsUsed: 3, slots: 16, slotsReserved: 0, state: '' },
      { name: 'long.q', type: 'B', slotsUsed: 1, slots: 4, slotsReserved: 2, state: 'dE' },
    ]);
    const parallel: QhostJob = {
      job: 103,
      task: null,
      name: 'weird<&">x',
      owner: 'bob',
      state: 'r',
      queue: 'all.q',
      queueInstance: 'all.q@node01',
      priority: 0.555,
      startedAt: 1795248478000,
      role: 'MASTER',
    };
    assert.deepEqual(jobs, [
      parallel,
      { ...parallel, role: 'SLAVE' },
      {
        job: 102,
        task: 3,
        name: 'arr',
        owner: 'alice',
        state: 'dr',
        queue: 'long.q',
        queueInstance: '',
        priority: 0.005689,
        startedAt: 1795248400000,
        role: 'MASTER',
      },
    ]);
  });

  it('has nulls and the printed texts for a host that is down', () => {
    const { resources, queues, jobs, name, processorsText, memoryTotalText, ...values } = host(
      hostsOf(qhost819),
      'node02',
    );
    assert.deepEqual([name, processorsText, memoryTotalText], ['node02', '-', '-']);
    assert.deepEqual([resources, queues, jobs], [[], [], []]);
    for (const [key, value] of Object.entries(values)) assert.equal(value, null, key);
  });

  it('recognises the dialect', () => {
    assert.equal(feed(readQhost, qhost819).end.dialect, 'sge8.1.9');
    assert.equal(feed(readQhost, qhost62).end.dialect, 'sge6.2');
    assert.equal(feed(readQhost, qhostOcsXml).end.dialect, 'ocs');
  });

  it('reads 6.2, which has no topology', () => {
    const [only, ...more] = hostsOf(qhost62);
    assert.ok(only !== undefined && more.length === 0);
    assert.deepEqual([only.sockets, only.cores, only.threads, only.processors], [null, null, null, 12]);
    const [job] = only.jobs;
    assert.deepEqual([job?.job, job?.queue, job?.role, job?.startedAt], [353538, 'grace', 'SLAVE', 1322585173000]);
  });

  it("computes a host's load from the load per processor that Univa prints", () => {
    const hosts = hostsOf(qhostUniva);
    assert.deepEqual(
      hosts.map(({ name, processors, load }) => [name, processors, load]),
      [
        ['node01', 32, 18.24],
        ['node02', null, null],
      ],
    );
    assert.equal(feed(readQhost, qhostUniva).end.dialect, 'univa');
  });

  it('fills in the start that OCS 9.2 leaves out of further rows of a task', () => {
    const [first, second] = host(hostsOf(qhostOcsXml), 'node01').jobs;
    assert.equal(first?.startedAt, 1795248478123);
    assert.deepEqual(second, { ...first, role: 'SLAVE' });
    assert.equal(first.name, 'a<b<');
  });

  it('reads a name in Latin-1', () => {
    const answer = Buffer.from(qhost62.replace('>sim<', '>caf\u00e9<'), 'latin1');
    assert.equal(hostsOf(answer)[0]?.jobs[0]?.name, 'caf\u00e9');
  });

  it('leaves out a host that is cut', () => {
    const { items, end } = feed(readQhost, qhost819.slice(0, qhost819.indexOf('weird')));
    assert.equal(end.state, 'truncated');
    assert.deepEqual(items, []);
  });

  it('reads the recorded answers of a live cell of 8.1.9', () => {
    for (const name of [
      'idle.qhost-F-q-j',
      'busy.qhost-F-q-j',
      'busy.qhost-j',
      'busy.qhost',
      'host-down.qhost-F-q-j',
    ]) {
      const answer = recorded('8.1.9', name);
      const { items, end } = feed(readQhost, answer);
      assert.deepEqual(end, { state: 'complete', said: null, dialect: 'sge8.1.9', unknownJobs: [] }, name);
      const sum = (count: (host: QhostHost) => number) => items.reduce((total, one) => total + count(one), 0);
      assert.equal(items.length, occurrences(answer, '<host name') - 1, name);
      assert.equal(
        sum(({ jobs }) => jobs.length),
        occurrences(answer, '<job name'),
        name,
      );
      assert.equal(
        sum(({ queues }) => queues.length),
        occurrences(answer, '<queue name'),
        name,
      );
    }
    const { queues, jobs } = host(hostsOf(recorded('8.1.9', 'busy.qhost-F-q-j')), 'ge2');
    assert.deepEqual(queues, [{ name: 'all.q', type: 'BIP', slotsUsed: 10, slots: 64, slotsReserved: 0, state: '' }]);
    assert.deepEqual(
      jobs.map(({ job, task, role, state, queueInstance }) => [job, task, role, state, queueInstance].join(' ')),
      [
        ...['1  MASTER r', '1  SLAVE r', '1  SLAVE r', '2  MASTER r', '2  SLAVE r', '4 1 MASTER r', '4 3 MASTER r'],
        ...['5  MASTER s', '6  MASTER Rr', '13  MASTER r', '13  SLAVE r', '13  SLAVE r'],
      ].map((row) => `${row} all.q@ge2`),
    );
  });

  it('reads the figures that remain of a host that went down', () => {
    const down = host(hostsOf(recorded('8.1.9', 'host-down.qhost-F-q-j')), 'ge2');
    assert.deepEqual([down.processors, down.memoryTotalText, down.memoryTotal], [2, '23.5G', 23.5 * 2 ** 30]);
    assert.deepEqual([down.load, down.memoryUsed, down.swapUsed], [null, null, null]);
    assert.equal(down.queues[0]?.state, 'u');
  });

  it('tells an empty answer from a refusal', () => {
    for (const name of ['denied.qhost-j', 'master-down.qhost-j']) {
      assert.equal(feed(readQhost, recorded('8.1.9', name)).end.state, 'empty', name);
    }
    const denied = feed(readQhost, 'error: denied: host "ge2" is neither submit nor admin host\n');
    assert.equal(denied.end.state, 'refused');
    assert.equal(denied.end.said, 'error: denied: host "ge2" is neither submit nor admin host');
  });

  it('reads the same hosts wherever the answer is cut into pieces', () => {
    for (const answer of [qhost819, qhost62, qhostOcsXml, `warning: odd\n${qhost819}`]) {
      const whole = feed(readQhost, answer);
      fc.assert(
        fc.property(anySizes, (sizes) => assert.deepEqual(feed(readQhost, answer, sizes), whole)),
        { numRuns: 25 },
      );
    }
  });

  it('reads back hosts as 8.1.9 and OCS print them', () => {
    fc.assert(
      fc.property(fc.array(anyHost, { maxLength: 4 }), fc.constantFrom('sge', 'ocs'), (hosts, dialect) => {
        const { items, end } = feed(readQhost, renderQhost(hosts, dialect));
        assert.equal(end.state, 'complete');
        assert.deepEqual(items, hosts);
      }),
      { numRuns: 60 },
    );
  });

  it('reads valid figures or nulls from garbage', () => {
    const words = ['<qhost>', '</qhost>', "<host name='a'>", '</host>', "<hostvalue name='num_proc'>", '</hostvalue>'];
    const more = ["<job name='1'>", '</job>', '<', "'", '1'];
    fc.assert(
      fc.property(garbage([...words, ...more]), anySizes, (answer, sizes) => {
        for (const { processors, load, jobs } of feed(readQhost, answer, sizes).items) {
          assert.ok(processors === null || processors >= 0);
          assert.ok(load === null || Number.isFinite(load));
          for (const { job } of jobs) assert.ok(job > 0);
        }
      }),
    );
  });
});

const plain = { noNullPrototype: true };
const anyName = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((name) => name.trim() === name && !name.includes('%'));
const word = fc.stringMatching(/^[a-z][a-z0-9.]{0,8}$/);
const count = fc.nat(5000);
const state = fc.constantFrom('', 'd', 'au', 'dE');

const anyResource: fc.Arbitrary<QhostResource> = fc.record(
  {
    name: word,
    dominance: fc.constantFrom('hl', 'hc', 'gc'),
    value: anyName,
  },
  plain,
);

const anyQueue: fc.Arbitrary<QhostQueue> = fc.record(
  {
    name: word,
    type: fc.constantFrom('BIP', 'B', ''),
    slotsUsed: count,
    slots: count,
    slotsReserved: count,
    state,
  },
  plain,
);

const anyJob: fc.Arbitrary<QhostJob> = fc
  .record(
    {
      job: fc.integer({ min: 1, max: 0xffff_ffff }),
      task: fc.option(fc.integer({ min: 1, max: 75_000 })),
      name: anyName,
      owner: anyName,
      state: fc.constantFrom('r', 'dr', 's', 'Rr', 't'),
      queue: word,
      priority: fc.nat(1_000_000).map((millionths) => millionths / 1e6),
      startedAt: fc.option(fc.integer({ min: 1_000_000_000, max: 0xffff_ffff }).map((seconds) => seconds * 1000)),
      role: fc.constantFrom('MASTER' as const, 'SLAVE' as const),
    },
    plain,
  )
  .map((job) => ({ ...job, queueInstance: `${job.queue}@h` }));

const anyHost: fc.Arbitrary<QhostHost> = fc
  .record(
    {
      name: word.filter((name) => name !== 'global'),
      architecture: fc.option(fc.constant('lx-amd64')),
      processors: fc.option(count),
      sockets: fc.option(count),
      cores: fc.option(count),
      threads: fc.option(count),
      load: fc.option(fc.nat(10_000).map((hundredths) => hundredths / 100)),
      memoryTotal: fc.option(fc.nat(1000).map((gibibytes) => gibibytes * 2 ** 30)),
      memoryUsed: fc.option(fc.nat(1000).map((mebibytes) => mebibytes * 2 ** 20)),
      swapTotal: fc.option(fc.constant(0)),
      swapUsed: fc.option(fc.constant(0)),
      resources: fc.array(anyResource, { maxLength: 3 }),
      queues: fc.array(anyQueue, { maxLength: 2 }),
      // The same id twice in a row would be a further slot of one task.
      jobs: fc.uniqueArray(anyJob, { maxLength: 3, selector: ({ job }) => job }),
    },
    plain,
  )
  .map((draft) => ({
    ...draft,
    processorsText: draft.processors === null ? '-' : String(draft.processors),
    memoryTotalText: draft.memoryTotal === null ? '-' : sizeText(draft.memoryTotal),
  }));

function sizeText(bytes: number): string {
  return bytes === 0 ? '0.0' : `${(bytes / 2 ** 30).toFixed(1)}G`;
}
