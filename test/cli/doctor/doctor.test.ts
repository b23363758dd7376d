import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runProgram } from '../../../src/cli/program';
import type { Finding } from '../../../src/cli/doctor/finding';
import { fakeTerminal } from '../fake-terminal';

interface Answer {
  readonly schema: number;
  readonly ok: boolean;
  readonly checks: readonly Finding[];
  readonly self_test: { readonly ok: boolean; readonly problems: readonly string[] } | null;
}

describe('doctor', { timeout: 60_000 }, () => {
  const nothing = mkdtempSync(join(tmpdir(), 'qmemacct-doctor-'));
  const config = join(nothing, 'qmemacct.toml');
  writeFileSync(config, `state_dir = "${join(nothing, 'state')}"\nrun_dir = "${join(nothing, 'run')}"\n`);
  after(() => rmSync(nothing, { recursive: true, force: true }));
  const words = ['doctor', '--config', config, '--prefix', join(nothing, 'opt')];

  it('looks at everything on this machine, and tells a cause and a mend for what is not well', async () => {
    const terminal = fakeTerminal();
    const status = await runProgram([...words, '--json', '--self-test'], '0', terminal);
    const answer = JSON.parse(terminal.output()) as Answer;
    assert.equal(answer.schema, 1);
    assert.equal(status, answer.ok ? 0 : 1);
    assert.deepEqual(
      [...new Set(answer.checks.map(({ area }) => area))],
      ['program', 'kernel', 'limits', 'tools', 'state', 'accounting', 'clock', 'Grid Engine', 'self-test'],
    );
    for (const { severity, mend, says } of answer.checks) {
      assert.notEqual(says, '');
      if (severity === 'problem' || severity === 'warning') assert.ok(mend !== null, says);
    }
    assert.match(answer.checks[0]?.says ?? '', /native modules load/);
    // Nothing is installed there, so there is nothing to test.
    assert.equal(answer.self_test?.ok, false);
  });

  it('prints a line or two for each, and the verdict last', async () => {
    const terminal = fakeTerminal();
    await runProgram(words, '0', terminal);
    assert.match(terminal.output(), /^program\n {2}ok {7}Node {14}v\d+/);
    assert.match(terminal.output().trimEnd().split('\n').at(-1) ?? '', /well|warning|problem/);
    for (const line of terminal.output().split('\n')) assert.ok(line.length <= 160, line);
  });
});
