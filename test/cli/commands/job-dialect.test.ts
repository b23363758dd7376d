import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { runProgram } from '../../../src/cli/program';
import { tenMinutesOf, modest } from '../../report/bad-ends';
import { openBracket } from '../../report/sample-records';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';

const GIB = 1024 ** 3;
const directory = temporaryDirectory();
const database = join(directory, 'accounting.db');

/** A killed job with address spaces above h_vmem and a quarter of h_vmem in use. Its accounting line has no maxvmem. */
const killed = {
  ...modest,
  exit_status: 137,
  signal: 9,
  peak_vmem: openBracket(4.2 * GIB, null, null),
  grid_engine: tenMinutesOf({ wallclock_seconds: 600 }),
};

before(async () => {
  const store = openSqliteStore(database, 0o600);
  await store.merge([killed]);
  await store.close();
});

async function job(dialect: string, ...words: readonly string[]): Promise<string> {
  const config = join(directory, `${dialect}.toml`);
  writeFileSync(config, `grid_engine = "${dialect}"\n`);
  const terminal = fakeTerminal();
  const args = ['job', '4730', '--accounting', database, '--config', config, ...words];
  assert.equal(await runProgram(args, '1.2.3', terminal), 0, terminal.warnings());
  return terminal.output().replace(/\s+/g, ' ');
}

describe('qmemacct job with grid_engine in the configuration', () => {
  it('judges a kill at h_vmem by what that Grid Engine adds up: address spaces or memory', async () => {
    const summing = /Probable cause: Grid Engine's own kill at h_vmem\. It had an address space .* at least 4\.2/;
    for (const dialect of ['sge6.2', 'ogs', 'univa']) assert.match(await job(dialect), summing);
    for (const dialect of ['sge8.1.9', 'daimh']) {
      const text = await job(dialect, '--full');
      assert.doesNotMatch(text, summing);
      assert.match(text, /not Grid Engine's own kill at h_vmem: it held 1\.00 GiB to 1\.11 GiB of the 4 GiB allowed/);
    }
    assert.match(await job('unknown', '--full'), /open Grid Engine's own kill at h_vmem: it held/);
  });

  it('names the causes in JSON in the same way', async () => {
    const causes = async (dialect: string): Promise<unknown> => {
      const found = JSON.parse(await job(dialect, '--json')) as { causes: readonly { causes: readonly string[] }[] };
      return found.causes.map((run) => run.causes);
    };
    assert.deepEqual(await causes('sge6.2'), [['h_vmem']]);
    assert.notDeepEqual(await causes('sge8.1.9'), [['h_vmem']]);
  });
});
