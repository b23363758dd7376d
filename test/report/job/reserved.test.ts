import assert from 'node:assert/strict';
import { it } from 'node:test';
import { renderJob } from '../../../src/report/job/job';
import { accountOf } from '../../support/records';
import { asRuns, unsampled } from '../sample-records';
import { testScreen } from '../screens';

const GIB = 1024 ** 3;

it('the job screen says why a maxvmem that is exactly the limit is not shown as memory in use', () => {
  const words = (maxvmem_bytes: number, detail: 'full' | undefined): string => {
    const record = {
      ...unsampled,
      ...{ peak_rss: null, peak_rss_swap: null, peak_process_vmem: null, peak_footprint: null },
      h_vmem: { request_bytes: GIB, limit_bytes: GIB, per: 'slot' as const },
      grid_engine: accountOf({ maxvmem_bytes }),
    };
    const report = { job_id: record.job_id, runs: asRuns([record]), older: 0, newer: 0 };
    return renderJob(report, { allTasks: false, detail }, testScreen()).join(' ').replace(/\s+/g, ' ');
  };
  for (const detail of ['full', undefined] as const) {
    assert.match(words(GIB, detail), /its maxvmem is left out: it is what was reserved, or exactly as much/);
    assert.doesNotMatch(words(GIB - 1, detail), /reserved/);
  }
});
