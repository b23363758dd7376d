import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { HistoryStore, Pruned, Retention } from '../../../src/accounting/history-store';
import { prune } from '../../../src/cli/commands/prune';
import { rollup } from '../../../src/cli/commands/rollup';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeTerminal } from '../fake-terminal';
import { fakeHistory } from '../nightly/fake-night';

const pruned: Pruned = { records: 1234, series: 20, rollups: 0, freed: 3 * 1024 ** 2, complete: true };

function config(text = ''): { readonly config: string; readonly color: boolean } {
  const path = join(temporaryDirectory(), 'qmemacct.toml');
  writeFileSync(path, `deliver_as = "root"\n${text}`);
  return { config: path, color: false };
}

const opened = (changes: Partial<HistoryStore>) => () => Promise.resolve(fakeHistory([], changes));

describe('prune', () => {
  it('removes what is older than the configured ages, and says how much', async () => {
    const calls: [Retention, number][] = [];
    const terminal = fakeTerminal();
    const store: Partial<HistoryStore> = {
      prune: (rules, now) => {
        calls.push([rules, now]);
        return Promise.resolve(pruned);
      },
    };
    const options = config('keep_records_days = 30\nkeep_charts_days = 7\n');
    assert.equal(await prune(options, terminal, opened(store)), 0);
    assert.deepEqual(calls, [[{ records: 30, series: 7, rollups: 0 }, terminal.now().getTime()]]);
    assert.equal(terminal.output(), "1,234 records, 20 charts, 0 days' sums removed, 3.00 MiB given back\n");
    const json = fakeTerminal();
    assert.equal(await prune({ ...options, json: true }, json, opened(store)), 0);
    assert.deepEqual(JSON.parse(json.output()), { schema: 1, ...pruned });
  });

  it('stops at Ctrl-C with status 3, and says that the next run removes the rest', async () => {
    const terminal = fakeTerminal({ isTTY: true });
    const store: Partial<HistoryStore> = {
      prune: async (_rules, _now, { signal, onProgress }) => {
        onProgress?.(10, 100);
        process.emit('SIGINT');
        await Promise.resolve();
        return { ...pruned, complete: signal?.aborted !== true };
      },
    };
    const before = process.listenerCount('SIGINT');
    assert.equal(await prune(config(), terminal, opened(store)), 3);
    assert.ok(terminal.output().startsWith('\r\u001b[Kprune: 10 of 100 (10 %)\r\u001b[K1,234 records'));
    assert.match(terminal.warnings(), /interrupted: the next run removes the rest/);
    assert.equal(process.listenerCount('SIGINT'), before);
  });

  it('--dry-run only counts the old records', async () => {
    const terminal = fakeTerminal();
    const store: Partial<HistoryStore> = {
      prune: () => assert.fail('it pruned'),
      countOld: ({ records }, now) => {
        assert.deepEqual([records, now], [30, terminal.now().getTime()]);
        return Promise.resolve(5000);
      },
    };
    assert.equal(await prune({ ...config('keep_records_days = 30\n'), dryRun: true }, terminal, opened(store)), 0);
    assert.match(terminal.output(), /^records older than 30 days go: those before 2026-10-22 UTC\n/);
    assert.match(terminal.output(), /days' sums are kept for ever\n5,000 records would go\n$/);
  });
});

describe('rollup', () => {
  it('says how many days it summed, or that every day is summed', async () => {
    const terminal = fakeTerminal();
    assert.equal(await rollup(config(), terminal, opened({})), 0);
    assert.equal(terminal.output(), '3 days summed\n');
    const none = fakeTerminal();
    assert.equal(await rollup(config(), none, opened({ rollUp: () => Promise.resolve(0) })), 0);
    assert.equal(none.output(), 'every day is summed\n');
  });

  it('stops at SIGTERM with status 3', async () => {
    const terminal = fakeTerminal();
    const rollUp: HistoryStore['rollUp'] = async ({ signal }) => {
      process.emit('SIGTERM');
      await Promise.resolve();
      return signal?.aborted === true ? 2 : 9;
    };
    assert.equal(await rollup({ ...config(), json: true }, terminal, opened({ rollUp })), 3);
    assert.deepEqual(JSON.parse(terminal.output()), { schema: 1, days: 2, complete: false });
  });
});
