import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { adviseRequest, roundRequest } from '../../../src/report/advice/advice';
import { accountOf } from '../../support/records';
import { tenMinutesOf } from '../bad-ends';
import {
  arrayOfTwenty,
  killedAtLimit,
  lost,
  openBracket,
  ordinary,
  reserving,
  reservingOnly,
  running,
  selfReported,
  unsampled,
} from '../sample-records';

const GIB = 1024 ** 3;
const POWERS: Readonly<Record<string, number>> = { M: 1024 ** 2, G: GIB };

/** A size as Grid Engine reads it, in bytes. */
function parseRequest(text: string): number {
  const match = /^(\d+(?:\.\d)?)([MG])$/.exec(text);
  return Number(match?.[1]) * (POWERS[match?.[2] ?? ''] ?? Number.NaN);
}

const limitOf4G = { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' } as const;

describe('roundRequest', () => {
  it('rounds up, by at most 25 % (except for the smallest sizes)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 42 }), (bytes) => {
        const { bytes: rounded, text } = roundRequest(bytes);
        assert.equal(parseRequest(text), rounded);
        assert.ok(rounded >= bytes);
        assert.ok(rounded <= Math.max(100 * 1024 ** 2, bytes * 1.25));
      }),
      { numRuns: 2000 },
    );
  });

  it('gives sizes that people would write', () => {
    assert.equal(roundRequest(1).text, '100M');
    assert.equal(roundRequest(471 * 1024 ** 2).text, '500M');
    assert.equal(roundRequest(990 * 1024 ** 2).text, '1G');
    assert.equal(roundRequest(1.83 * GIB).text, '1.9G');
    assert.equal(roundRequest(4.1 * GIB).text, '4.5G');
    assert.equal(roundRequest(17.1 * GIB).text, '18G');
    assert.equal(roundRequest(130 * GIB).text, '132G');
  });
});

describe('adviseRequest', () => {
  it('takes the larger of memory and address space, per slot', () => {
    const advice = adviseRequest([ordinary]);
    assert.equal(advice?.kind, 'lower');
    assert.equal(advice.request, 'h_vmem=650M');
    assert.equal(advice.need.quantity, 'peak_process_vmem');
    assert.equal(advice.bounded, false);
  });

  it('advises a job that ran well where only the epilog or the stop procedure of its PE failed', () => {
    for (const failed of [12, 13, 14, 15, 16])
      assert.deepEqual(adviseRequest([{ ...ordinary, failed }])?.request, 'h_vmem=650M');
  });

  it('sizes a request that is only reserved by the memory held, whatever the address space', () => {
    const advice = adviseRequest([reservingOnly]);
    assert.deepEqual([advice?.kind, advice?.request, advice?.complex], ['lower', 'mem_free=500M', 'mem_free']);
    assert.equal(advice?.need.quantity, 'peak_footprint');
    // Grid Engine may have added up address spaces.
    const counted = { ...reservingOnly, grid_engine: tenMinutesOf({ maxvmem_bytes: 44 * GIB }) };
    assert.equal(adviseRequest([counted])?.request, 'mem_free=500M');
    const unsized = { ...reservingOnly, h_vmem: null, requests: {}, request_order: 'site_mem' };
    assert.deepEqual([adviseRequest([unsized])?.kind, adviseRequest([unsized])?.request], ['ask', 'site_mem=500M']);
  });

  it('raises h_vmem after a kill at h_vmem, whatever complex the site schedules memory by', () => {
    const both = { ...killedAtLimit, requests: { mem_free: limitOf4G }, request_order: 'mem_free' };
    assert.equal(adviseRequest([both])?.request, 'h_vmem=6G');
  });

  it('never asks for less than was measured on any host, plus headroom', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.integer({ min: 1, max: 2 ** 40 }),
            fc.integer({ min: 1, max: 2 ** 40 }),
            fc.integer({ min: 1, max: 64 }),
          ),
          {
            minLength: 1,
            maxLength: 5,
          },
        ),
        (hosts) => {
          const records = hosts.map(([rss, space, slots]) => ({
            ...ordinary,
            host_slots: slots,
            peak_rss: openBracket(rss, null, null),
            peak_rss_swap: openBracket(rss, null, null),
            peak_process_vmem: openBracket(space, null, null),
          }));
          const advice = adviseRequest(records);
          const request = parseRequest(advice?.request.replace('h_vmem=', '') ?? '');
          for (const [rss, space, slots] of hosts) assert.ok(request * slots >= Math.max(rss, space) * 1.2 - slots);
        },
      ),
    );
  });

  it('sizes the request for the whole job where h_vmem is consumed once per job', () => {
    const perJob = { ...ordinary, h_vmem: { request_bytes: 16 * GIB, limit_bytes: 16 * GIB, per: 'job' } as const };
    assert.equal(adviseRequest([perJob])?.request, 'h_vmem=2.6G');
  });

  it('keeps the request above the address space of a program with a large reservation', () => {
    assert.equal(adviseRequest([reserving])?.request, 'h_vmem=3G');
  });

  it('uses the upper bound where one is known', () => {
    const advice = adviseRequest([selfReported]);
    assert.equal(advice?.kind, 'keep');
    assert.equal(advice.bounded, true);
    assert.equal(advice.need.bytes, 1_744_830_464);
  });

  it('raises a limit that was reached by half, and marks this as a guess', () => {
    const advice = adviseRequest([killedAtLimit]);
    assert.deepEqual([advice?.kind, advice?.request, advice?.guess], ['raise', 'h_vmem=6G', true]);
    assert.equal(advice?.stoppedAt, 4 * GIB);
    assert.equal(adviseRequest(arrayOfTwenty)?.request, 'h_vmem=3G');
    // Grid Engine counted more than the limit, so more was needed.
    const counted = { ...killedAtLimit, grid_engine: accountOf({ maxvmem_bytes: 9 * GIB }) };
    const more = adviseRequest([counted]);
    assert.deepEqual([more?.request, more?.guess, more?.stoppedAt], ['h_vmem=11G', true, null]);
  });

  it('raises the limit that was reached, whatever complex and amount other runs requested', () => {
    const roomy = { ...ordinary, pe: null, slots: 1, host_slots: 1, h_vmem: null, requests: {} };
    const limitOf64G = { request_bytes: 64 * GIB, limit_bytes: 64 * GIB, per: 'slot' } as const;
    for (const other of [
      { ...roomy, h_vmem: limitOf64G },
      { ...roomy, requests: { mem_free: limitOf64G } },
    ]) {
      const advice = adviseRequest([other, killedAtLimit]);
      assert.deepEqual([advice?.kind, advice?.request, advice?.stoppedAt], ['raise', 'h_vmem=6G', 4 * GIB]);
    }
  });

  it("uses Grid Engine's figure for a job without samples only if past runs give a risk", () => {
    const prediction = {
      ...{ amount: 2 * GIB, risk: 0.01, runs: 40, largest: 1.9 * GIB },
      ...{ sameProgram: false, stoppedAt: null, mostlyStopped: false },
    };
    const account = tenMinutesOf({ maxvmem_bytes: 1.5 * GIB });
    const counted = { ...unsampled, h_vmem: limitOf4G, peak_rss: null, grid_engine: account };
    const advice = adviseRequest([counted], prediction);
    assert.deepEqual([advice?.kind, advice?.request, advice?.counted], ['lower', 'h_vmem=2G', true]);
    assert.equal(adviseRequest([counted], { ...prediction, risk: null }), null);
    assert.equal(adviseRequest([{ ...counted, exit_status: 1 }], prediction), null);
  });

  it('gives no advice without known needs', () => {
    assert.equal(adviseRequest([running]), null);
    assert.equal(adviseRequest([lost]), null);
    assert.equal(adviseRequest([unsampled]), null);
    assert.equal(adviseRequest([{ ...ordinary, exit_status: 1 }]), null);
    assert.equal(adviseRequest([{ ...ordinary, failed: 8 }]), null);
    assert.equal(adviseRequest([{ ...ordinary, peak_process_vmem: null }]), null);
    assert.equal(adviseRequest([]), null);
  });
});
