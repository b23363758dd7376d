import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { createProgram, runProgram } from '../../../src/cli/program';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';

const directory = temporaryDirectory();

async function printed(...words: readonly string[]): Promise<string> {
  const terminal = fakeTerminal();
  assert.equal(await runProgram(words, '1.2.3', terminal), 0, terminal.warnings());
  return terminal.output();
}

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** The completion of each shell. */
const scripts = { bash: '', zsh: '', fish: '' };
before(async () => {
  for (const shell of SHELLS) scripts[shell] = await printed('completion', shell);
});

/** Runs these lines of bash, in which `offer WORD ...` prints a line with what bash offers for the last word. */
function inBash(lines: string, ...args: readonly string[]): readonly string[] {
  const script = `${scripts.bash}
offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _qmemacct; printf '%s\\n' "\${COMPREPLY[*]}"; }
${lines}`;
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-uc', script, 'bash', ...args], {
    encoding: 'utf8',
  });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.trimEnd().split('\n');
}

/** The words that bash offers for the last of these. */
function offered(...words: readonly string[]): readonly string[] {
  const [line = ''] = inBash('offer qmemacct "$@"', ...words);
  return line.split(' ').filter((word) => word !== '');
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
  it('offers commands, and after a command its options, subcommands and choices', () => {
    assert.deepEqual(offered('jo'), ['job', 'jobs']);
    assert.deepEqual(offered('--config', 'x', 'job', '--fu'), ['--full']);
    assert.deepEqual(offered('job', '--json', '--all'), ['--all', '--all-hosts']);
    assert.deepEqual(offered('database', 'i'), ['init']);
    assert.deepEqual(offered('digest', 'o'), ['on', 'off']);
    assert.deepEqual(offered('completion', ''), [...SHELLS, ...offered('man', '')]);
  });

  it('leaves values and files to bash', () => {
    assert.deepEqual(offered('job', '--accounting', ''), []);
    assert.deepEqual(offered('--config', ''), []);
    assert.deepEqual(offered('job', './'), []);
  });

  it('distinguishes the command from the value of an option in fish, too', (t) => {
    const script = `${scripts.fish}
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
    const names = commands.map((command) => command.name());
    const offers = inBash('for name; do offer qmemacct "$name" --; done', ...names);
    assert.equal(offers.length, names.length);
    for (const [index, command] of commands.entries()) {
      const options = command.options.flatMap(({ long }) => long ?? []);
      const known = new Set(offers[index]?.split(' '));
      assert.deepEqual(
        options.filter((option) => !known.has(option)),
        [],
      );
      for (const shell of SHELLS)
        for (const option of options)
          assert.ok(scripts[shell].includes(option.replace('--', shell === 'fish' ? '-l ' : '--')));
    }
  });

  it('has scripts that bash, zsh and fish can parse', async (t) => {
    for (const shell of SHELLS) await t.test(shell, (part) => accepts(part, shell, ['-n'], scripts[shell]));
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
