import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SchedulerReason } from '../../../src/gridengine/qstat/job-detail';
import { readJobDetails } from '../../../src/gridengine/qstat/read-job-details';
import { readSchedulerMessage, readStartError } from '../../../src/gridengine/qstat/scheduler-message';
import { recorded } from '../recorded';

const at = (kind: 'host' | 'queue' | 'cluster', name: string): object => ({ kind, name });
const offers = (place: object, complex: string, value: string, source = 'consumable'): object => ({
  kind: 'offers',
  place,
  complex,
  value,
  source,
});

/** Messages from libs/sched/msg_schedd.h; those about hosts were also recorded. */
const MESSAGES: Readonly<Record<string, object>> = {
  '(-l h_vmem=900G) cannot run at host "ge1" because it offers only hc:h_vmem=195.852G': offers(
    at('host', 'ge1'),
    'h_vmem',
    '195.852G',
  ),
  '(-l a=") cannot run at host "x" because",b=1) cannot run in queue "all.q@n1" because it offers only qf:b=0': offers(
    at('queue', 'all.q@n1'),
    'b',
    '0',
    'fixed',
  ),
  '(-l mem_free=9G) cannot run at host "n1" because it offers only hl:mem_free=2.000G': offers(
    at('host', 'n1'),
    'mem_free',
    '2.000G',
    'load',
  ),
  '(-l lic=1) cannot run globally because it offers only gc:lic=0.000000 due to a reservation': offers(
    at('cluster', ''),
    'lic',
    '0.000000',
  ),
  '(-l h_vmem=6G) cannot run in queue "global" because it offers only gc:h_vmem=1.414G': offers(
    at('cluster', ''),
    'h_vmem',
    '1.414G',
  ),
  'cannot run in PE "mpi" because it only offers 6 slots': { kind: 'pe-slots', pe: 'mpi', slots: 6 },
  'queue instance "all.q@n7" dropped because it is full': {
    kind: 'place',
    place: at('queue', 'all.q@n7'),
    why: 'full',
  },
  'queue instance "all.q@n7" is in suspend alarm: load=9': {
    kind: 'place',
    place: at('queue', 'all.q@n7'),
    why: 'in suspend alarm: load=9',
  },
  'cannot run in queue "gpu.q" because it is not contained in its hard queue list (-q)': {
    kind: 'place',
    place: at('queue', 'gpu.q'),
    why: 'it is not contained in its hard queue list (-q)',
  },
  'Job cannot run in queue instance "all.q@n1" because it exceeds limit in rule max/1': {
    kind: 'quota',
    rule: 'max/1',
  },
  'Job cannot run in queue instance "all.q@n1" because exceeds limit in rule max/1': { kind: 'quota', rule: 'max/1' },
  'cannot run because it exceeds limit "alice/////" in rule "max/1"': { kind: 'quota', rule: 'max/1' },
  'Job is in hold state': { kind: 'state' },
  'job dropped because of job dependencies': { kind: 'state' },
  '(Collecting of scheduler job information is turned off)': { kind: 'off' },
  '(Collecting of scheduler job information is turned off - use qalter -w p job_id to verify if the job can be scheduled)':
    { kind: 'off' },
};

describe('readSchedulerMessage', () => {
  for (const [text, message] of Object.entries(MESSAGES))
    it(`reads: ${text}`, () => assert.deepEqual(readSchedulerMessage(text), message));

  it('reads every reason of a recorded answer', () => {
    const reasons: SchedulerReason[] = [];
    const reader = readJobDetails(
      () => undefined,
      (reason) => reasons.push(reason),
    );
    reader.write(recorded('8.1.9', 'busy.qstat-j'));
    reader.end();
    const kinds = reasons.map(({ text }) => readSchedulerMessage(text).kind);
    assert.deepEqual(kinds, ['offers', 'offers', 'state', 'state', 'state', 'other']);
  });

  it('reads the place and the offer whatever was requested', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9_.@-]{1,20}$/);
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), word, word, word, (request, host, complex, value) => {
        const text = `(-l ${request.replace(/\s+/g, ' ')}) cannot run at host "${host}" because it offers only hc:${complex}=${value}`;
        assert.deepEqual(readSchedulerMessage(text), offers(at('host', host), complex, value));
      }),
      { numRuns: 200 },
    );
  });

  it('keeps any other text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const message = readSchedulerMessage(text);
        if (message.kind === 'other') assert.equal(message.text, text);
      }),
      { numRuns: 300 },
    );
  });
});

describe('readStartError', () => {
  it('leaves out the time and the process', () => {
    assert.equal(readStartError("11/21/2026 17:31:54 [52001:27226]: error: can't chdir to /x"), "can't chdir to /x");
    assert.equal(
      readStartError('2026-11-22 06:48:14.121647 [1002:19410]: error: can\'t open output file "/x"'),
      'can\'t open output file "/x"',
    );
    assert.equal(readStartError('anything else'), 'anything else');
  });
});
