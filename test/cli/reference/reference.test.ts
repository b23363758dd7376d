import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createProgram, runProgram } from '../../../src/cli/program';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';

const directory = temporaryDirectory();

async function printed(...words: readonly string[]): Promise<string> {
  const terminal = fakeTerminal();
  assert.equal(await runProgram(words, '1.2.3', terminal), 0, terminal.warnings());
  return terminal.output();
}

/** The words that bash offers for the last of these. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const script = `${await printed('completion', 'bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _qmemacct; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-uc', script, 'bash', 'qmemacct', ...words], {
    encoding: 'utf8',
  });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.split('\n').filter((word) => word !== '');
}

/** Asserts that a program accepts the text; skips the test where there is no such program. */
function accepts(t: TestContext, program: string, args: readonly string[], input: string): void {
  const file = join(directory, 'text');
  writeFileSync(file, input);
  const { error, status, stdout, stderr } = spawnSync(program, [...args, file], { encoding: 'utf8' });
  if (error !== undefined) t.skip(`no ${program} here`);
  else assert.deepEqual([status, stdout + stderr], [0, '']);
}

describe('completion', () => {
  it('offers commands, and after a command its options, subcommands and choices', async () => {
    assert.deepEqual(await offered('jo'), ['job', 'jobs']);
    assert.deepEqual(await offered('--config', 'x', 'job', '--fu'), ['--full']);
    assert.deepEqual(await offered('job', '--json', '--all'), ['--all', '--all-hosts']);
    assert.deepEqual(await offered('database', 'i'), ['init']);
    assert.deepEqual(await offered('digest', 'o'), ['on', 'off']);
    assert.deepEqual(await offered('completion', ''), [...['bash', 'zsh', 'fish'], ...(await offered('man', ''))]);
  });

  it('leaves values and files to bash', async () => {
    assert.deepEqual(await offered('job', '--accounting', ''), []);
    assert.deepEqual(await offered('--config', ''), []);
    assert.deepEqual(await offered('job', './'), []);
  });

  it('distinguishes the command from the value of an option in fish, too', async (t) => {
    const script = `${await printed('completion', 'fish')}
complete -C "$argv" | string split -f 1 \\t; true`;
    function offeredByFish(line: string): readonly string[] | null {
      const { error, status, stdout, stderr } = spawnSync('fish', ['-N', '-c', script, line], { encoding: 'utf8' });
      if (error !== undefined) return null;
      assert.deepEqual([status, stderr], [0, '']);
      return stdout.split('\n').filter((word) => word !== '');
    }
    const jobs = offeredByFish('qmemacct jo');
    if (jobs === null) {
      t.skip('no fish here');
      return;
    }
    assert.deepEqual(jobs, ['job', 'jobs']);
    assert.deepEqual(offeredByFish('qmemacct --config x --json jo'), ['job', 'jobs']);
    assert.deepEqual(offeredByFish('qmemacct --config job jo'), ['job', 'jobs']);
    assert.deepEqual(offeredByFish('qmemacct --config x job --fu'), ['--full']);
    // A user may be called like a command.
    assert.deepEqual(offeredByFish('qmemacct owner live --wat'), []);
  });

  it('knows every command and option', async () => {
    const context = { terminal: fakeTerminal(), version: '1', finish: () => Promise.resolve() };
    const { commands } = await createProgram(['completion'], context);
    for (const command of commands) {
      const options = command.options.flatMap(({ long }) => long ?? []);
      const known = new Set(await offered(command.name(), '--'));
      assert.deepEqual(
        options.filter((option) => !known.has(option)),
        [],
      );
      for (const shell of ['bash', 'zsh', 'fish']) {
        const script = await printed('completion', shell);
        for (const option of options) assert.ok(script.includes(option.replace('--', shell === 'fish' ? '-l ' : '--')));
      }
    }
  });

  it('has scripts that bash, zsh and fish can parse', async (t) => {
    await t.test('bash', async (part) => accepts(part, 'bash', ['-n'], await printed('completion', 'bash')));
    await t.test('zsh', async (part) => accepts(part, 'zsh', ['-n'], await printed('completion', 'zsh')));
    await t.test('fish', async (part) => accepts(part, 'fish', ['-n'], await printed('completion', 'fish')));
  });

  it('refuses an unknown shell', async () => {
    assert.equal(await runProgram(['completion', 'tcsh'], '1', fakeTerminal()), 2);
  });
});

describe('the manual page', () => {
  it('has every command and option', async () => {
    const page = await printed('man');
    const context = { terminal: fakeTerminal(), version: '1', finish: () => Promise.resolve() };
    const { commands } = await createProgram(['man'], context);
    for (const command of commands) {
      assert.match(page, new RegExp(`^\\.SS ${command.name()}( |$)`, 'm'));
      for (const { flags } of command.options)
        assert.ok(page.includes(`\\fB${flags.replaceAll('-', '\\-')}\\fR`), flags);
    }
    assert.match(page, /^\.TH QMEMACCT 1 2026-11-21 "qmemacct 1\.2\.3"\n/);
  });

  it('passes the checks of mandoc', async (t) => accepts(t, 'mandoc', ['-Tlint'], await printed('man')));
});
