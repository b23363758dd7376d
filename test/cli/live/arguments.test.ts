import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readOptions, watchInterval } from '../../../src/cli/live/arguments';
import {
  filterOf,
  HOSTS_OPTIONS,
  hostsSorting,
  JOBS_OPTIONS,
  jobsSorting,
  RISK_OPTIONS,
} from '../../../src/report/live/live-options';
import { fakeTerminal } from '../fake-terminal';

const onTerminal = fakeTerminal({ isTTY: true });

describe('the arguments of the live commands', () => {
  it('are filters of at most 32 names each', () => {
    assert.deepEqual(filterOf(readOptions(JOBS_OPTIONS, { owner: 'a,b*' })).owner, ['a', 'b*']);
    assert.deepEqual(filterOf(readOptions(JOBS_OPTIONS, {})).job, []);
    assert.throws(() => readOptions(JOBS_OPTIONS, { host: '' }), /--host: "" names nothing/);
    const many = Array.from({ length: 33 }, (_, index) => `n${index}`).join();
    assert.throws(() => readOptions(JOBS_OPTIONS, { host: many }), /names nothing, or more than 32/);
    assert.deepEqual(readOptions(JOBS_OPTIONS, { host: 'a,b,a' }).host, ['a', 'b']);
  });

  it('are sorting keys and directions', () => {
    assert.deepEqual(jobsSorting(readOptions(JOBS_OPTIONS, {})), { key: 'share', reverse: false });
    const free = readOptions(HOSTS_OPTIONS, { sort: 'free', reverse: true });
    assert.deepEqual(hostsSorting(free), { key: 'free', reverse: true });
    assert.throws(() => readOptions(HOSTS_OPTIONS, { sort: 'risk' }), /write one of host, used, /);
  });

  it('are spans of time, as 90s or 1d', () => {
    assert.deepEqual(
      ['90s', '30m', '2h', '1d', '1w'].map((text) => readOptions(RISK_OPTIONS, { within: text }).within),
      [90_000, 1_800_000, 7_200_000, 86_400_000, 604_800_000],
    );
    for (const text of ['', '2', 'h', '1.5h', '-1h', '9999999h'])
      assert.throws(() => readOptions(RISK_OPTIONS, { within: text }).within, /--within: ".*" is not a span/);
  });

  it('are the seconds between refreshes, on a terminal only', () => {
    assert.equal(watchInterval({}, fakeTerminal(), 10), null);
    assert.equal(watchInterval({ watch: true }, onTerminal, 10), 10_000);
    assert.equal(watchInterval({ watch: '2.5' }, onTerminal, 10), 2500);
    for (const watch of ['0', '0.5', '3601', 'often', '1e3'])
      assert.throws(() => watchInterval({ watch }, onTerminal, 10), /--watch: ".*" is not a number of seconds/);
    assert.throws(() => watchInterval({ watch: true }, fakeTerminal(), 10), /needs a terminal/);
    assert.throws(() => watchInterval({ watch: true, json: true }, onTerminal, 10), /leave --json and --csv out/);
    const dumb = fakeTerminal({ isTTY: true, env: { TERM: 'dumb' } });
    assert.throws(() => watchInterval({ watch: true }, dumb, 10), /TERM is "dumb"/);
  });
});
