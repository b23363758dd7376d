import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_TOTALS } from '../../../src/accounting/add-summaries';
import type { SummaryGroup } from '../../../src/accounting/summary';
import { hostsWithoutJobs, silentNodes } from '../../../src/report/efficiency/coverage';
import { lost, ordinary } from '../sample-records';

const host = (key: string, records: number, unsampled: number, running = 0): SummaryGroup => ({
  key,
  totals: { ...NO_TOTALS, records, unsampled, running },
});

describe('silentNodes', () => {
  const before = [host('a', 5, 0), host('b', 5, 5), host('c', 5, 1), host('d', 2, 0), host('e', 3, 0)];

  it('names hosts that had sampled jobs before and have none now', () => {
    // b never had sampled jobs; c still has; d runs a sampled job; e had no jobs.
    const during = [host('a', 4, 4), host('b', 4, 4), host('c', 4, 3), host('d', 4, 3, 1), host('f', 1, 1)];
    assert.deepEqual(silentNodes({ before, during, last: [] }), [
      { host: 'a', kind: 'unsampled', records: 4, last_at: null },
    ]);
    assert.deepEqual(hostsWithoutJobs({ before, during, last: [] }), ['e']);
  });

  it('names each host once whose last record is of a lost sampler', () => {
    const during = [host('a', 4, 4), host(lost.host, 2, 0)];
    const ended = { ...lost, host: 'y', failed: 0, exit_status: 0 };
    const last = [lost, { ...ordinary, host: 'z' }, { ...lost, host: 'a' }, ended];
    assert.deepEqual(
      silentNodes({ before, during, last }).map(({ host: name, kind, records }) => [name, kind, records]),
      [
        ['a', 'unsampled', 4],
        [lost.host, 'lost', 2],
      ],
    );
  });
});
