import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { readSpoolConfigLines } from '../../src/gridengine/spool-config-lines';
import { sampleConfig } from './spool-samples';

function ambiguities(changes: Readonly<Record<string, string>>): readonly string[] {
  return readSpoolConfigLines(sampleConfig(changes)).ambiguous;
}

describe('readSpoolConfigLines', () => {
  it('finds nothing ambiguous in an ordinary file', () => assert.deepEqual(ambiguities({}), []));

  const forgeries: readonly [string, Readonly<Record<string, string>>, RegExp][] = [
    ['a limit in an output path', { stdout_path: '/o\nh_vmem=INFINITY' }, /h_vmem follows stdout_path/],
    ['any key in an output path', { stderr_path: '/o\nfoo=bar' }, /foo follows stderr_path/],
    ['a whole tail in the input path', { stdin_path: '/i\nmerge_stderr=0\njob_id=1' }, /job_id occurs twice/],
    ['arguments that begin in an output path', { stdout_path: '/o\nnjob_args=0' }, /njob_args follows stdout_path/],
    ['a staged path', { fs_stdout_path: '/o\nadd_grp_id=0' }, /add_grp_id occurs twice/],
    ['a PE task in the working directory', { cwd: '/home/a\npe_task_id=1.x' }, /pe_task_id is not in its place/],
    ['a PE task behind an unknown key', { cwd: '/home/a\nfoo=1\npe_task_id=1.x' }, /pe_task_id is not in its place/],
    ['a cgroup in the shell', { shell_path: '/bin/sh\nsystemd_scope=x.scope' }, /systemd_scope is not in its place/],
    ['systemd in the mail list', { mail_list: 'a\nuse_systemd=yes' }, /use_systemd is not in its place/],
    ['a limit in an argument', { job_arg2: 'x\nh_vmem=INFINITY' }, /an argument of the job sets a limit/],
    ['slots in an argument, with a blank', { job_arg2: 'x\n host_slots =64' }, /an argument of the job sets a limit/],
    [
      'a key in an argument that belongs after the arguments',
      { job_arg1: 'x\nqueue_tmpdir=/x' },
      /queue_tmpdir occurs twice/,
    ],
    ['a whole line in the mail list', { mail_list: 'a@b\nadmin_user=nobody' }, /admin_user occurs twice/],
    [
      'arguments that begin in the mail list',
      { mail_list: 'a\nmail_options=0\nacct_project=x\nnjob_args=0' },
      /begin twice/,
    ],
    ['a PE task in the shell', { shell_path: '/bin/bash\npe_task_id=1.x' }, /pe_task_id is not in its place/],
    ['a limit behind the shepherd’s line buffer', { job_arg1: `${'x'.repeat(1e5)}h_vmem=1` }, /sets a limit/],
    ['a limit behind that buffer in wide characters', { job_arg1: `${'é'.repeat(5e4)}h_vmem=1` }, /sets a limit/],
    ['an empty line', { cwd: '/home/a\n' }, /a line after cwd is not a key=value/],
    ['a line without equals sign', { job_name: 'x\ny' }, /a line after job_name is not a key=value/],
    ['a key with a blank', { account: 'a\n h_vmem=1' }, /a line after account is not a key=value/],
  ];
  for (const [what, changes, expected] of forgeries) {
    it(`detects ${what}`, () => assert.match(ambiguities(changes).join('; '), expected));
  }

  it('keeps the first value of a key', () => {
    const { values } = readSpoolConfigLines(sampleConfig({ account: 'a\nh_vmem=INFINITY' }));
    assert.equal(values.get('h_vmem'), '1G');
  });

  it('ignores harmless lines in arguments: scripts given with -b y', () => {
    const script = 'import os\nqueue = "x"\nhost=1\njob_id=5\nh_max = 3\nprint(os)';
    const { values, ambiguous } = readSpoolConfigLines(sampleConfig({ job_arg2: script }));
    assert.deepEqual(ambiguous, []);
    assert.equal(values.get('host'), 'ge1');
    assert.equal(values.get('job_id'), '1516');
    assert.equal(values.get('job_arg2'), undefined);
  });

  it('detects lines that a path or the mail list adds, or reads the same values as without them', () => {
    const honest = readSpoolConfigLines(sampleConfig()).values;
    const needed = ['job_id', 'ja_task_id', 'pe_task_id', 'job_owner', 'h_vmem', 'host_slots', 'add_grp_id'];
    const keys = fc.constantFrom(...needed, 'njob_args', 'queue_tmpdir', 'stderr_path', 'mem_limit', 'foo');
    const lines = fc.array(fc.tuple(keys, fc.string()), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(fc.constantFrom('stdout_path', 'stderr_path', 'stdin_path', 'mail_list'), lines, (place, forged) => {
        const text = forged.map(([key, value]) => `${key}=${value}`).join('\n');
        const { values, ambiguous } = readSpoolConfigLines(sampleConfig({ [place]: `/o\n${text}` }));
        assert.ok(ambiguous.length > 0 || needed.every((key) => values.get(key) === honest.get(key)));
      }),
    );
  });
});
