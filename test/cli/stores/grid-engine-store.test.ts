import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sampleLine } from '../../accounting/import/sample-lines';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeTerminal } from '../fake-terminal';
import { runCommand, type Answer } from '../../support/qmemacct';

/** A host with these lines in Grid Engine's accounting file, and without an accounting DB. */
function host(
  lines: string,
  settings = '',
): { readonly directory: string; readonly run: (...words: string[]) => Promise<Answer> } {
  const directory = temporaryDirectory();
  const [config, file] = ['qmemacct.toml', 'accounting'].map((name) => join(directory, name)) as [string, string];
  writeFileSync(file, lines);
  writeFileSync(
    config,
    `accounting = "${directory}/none.db"\ncluster = "c"\naccounting_files = ["${file}"]\nserve_socket = "${directory}/s"\nrun_dir = "${directory}"\n${settings}`,
  );
  return {
    directory,
    run: (...words): Promise<Answer> => runCommand([...words, '--config', config], { env: { HOME: directory } }),
  };
}

const hourAgo = Math.floor(fakeTerminal().now().getTime() / 1000) - 3700;

describe('a host without an accounting DB', () => {
  it("answers from the end of Grid Engine's own accounting, and says so", async () => {
    const { directory, run } = host(sampleLine(1, { start: hourAgo }) + sampleLine(2, { start: hourAgo + 60 }));
    const { status, output, warnings } = await run('owner', 'alice', '--since', '1d');
    assert.equal(status, 0);
    assert.match(output, /^ *2 [^]*^ *1 /m);
    assert.match(
      warnings,
      /no accounting DB .* from the last 8\.00 MiB of .*accounting \(2 lines\); "qmemacct import"/,
    );
    const job = await run('job', '2');
    assert.match(job.output, /^Job 2 /);
    assert.ok(!existsSync(join(directory, 'none.db')));
  });

  it('reads only the last lines of a long file', async () => {
    const longLine = (job: number): string => sampleLine(job, { start: hourAgo }).replace('run.sh', 'x'.repeat(1000));
    const text = Array.from({ length: 8000 }, (_, index) => longLine(index + 1)).join('');
    assert.ok(text.length > 9 * 1024 ** 2, 'long enough');
    const { run } = host(text);
    const last = await run('job', '8000');
    assert.equal(last.status, 0, last.warnings);
    const first = await run('job', '1');
    assert.notEqual(first.status, 0);
    assert.match(first.warnings, /"qmemacct import" reads all of it/);
  });

  it('judges jobs by the request_complex of the site', async () => {
    const line = sampleLine(1, { start: hourAgo }).replace('-l h_vmem=1G', '-l h_vmem=1G,site_mem=500M');
    const { run } = host(line, 'request_complex = ["site_mem"]\n');
    const { output } = await run('job', '1');
    assert.match(output, /Memory +500 MiB /);
  });

  it('is not one whose DB is damaged: there every command ends with 3', async () => {
    const { directory, run } = host(sampleLine(1, { start: hourAgo }));
    writeFileSync(join(directory, 'none.db'), 'no database at all'.repeat(1000));
    for (const words of [['job', '1'], ['jobs'], ['top', 'owners'], ['report']]) {
      const { status, output, warnings } = await run(...words);
      assert.deepEqual([status, output], [3, ''], words.join(' '));
      assert.match(warnings, /the site's accounting DB .*none\.db can't be read/);
      assert.doesNotMatch(warnings, /no accounting DB is on this host/);
    }
  });

  it('does not claim that a job was not sampled, or had no limit', async () => {
    const line = sampleLine(1, { start: hourAgo }).replace('-l h_vmem=1G', '-l arch=lx-amd64');
    const { output } = await host(line).run('job', '1');
    assert.match(output, /Memory +not known /);
    assert.match(output, /The figures are Grid Engine's own\./);
    assert.doesNotMatch(output, /It was not sampled|no limit/);
  });

  it('leaves no temporary file behind', async (t) => {
    const before = process.env.TMPDIR;
    t.after(() => (before === undefined ? delete process.env.TMPDIR : (process.env.TMPDIR = before)));
    const { directory, run } = host(sampleLine(1, { start: hourAgo }));
    const temporary = join(directory, 'tmp');
    mkdirSync(temporary);
    process.env.TMPDIR = temporary;
    const { status, warnings } = await run('jobs', '--since', '1d');
    assert.deepEqual([status, warnings.includes('from the last'), readdirSync(temporary)], [0, true, []]);
  });
});
