import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  describeJob,
  readJobPid,
  readUsage,
  spooledScript,
  trustedSpoolFile,
  undescribed,
  type JobDescription,
} from '../../../src/sampler/job/job-description';
import { LONGEST_SCRIPT, programDigest } from '../../../src/gridengine/program';
import { sampleConfig, samplePeTaskConfig, sampleUsage } from '../../gridengine/spool-samples';
import { temporaryDirectory } from '../../support/temporary-directory';
import { RequestRules, USUAL_RULES } from '../../../src/record/request-rules';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';

const GIB = 2 ** 30;
const RUN = { job: 1516, task: 0, addressSpaceKib: null };

function described(text: string, run: Parameters<typeof describeJob>[1] = RUN): JobDescription {
  return describeJob(text, run, USUAL_RULES);
}

/** Asserts that nothing was taken from a config that may be forged. */
function assertNothingTaken(description: JobDescription): void {
  const { h_vmem: hVmem, ...fields } = description.fields;
  assert.equal(hVmem, null);
  assert.equal(description.host, null);
  for (const [key, value] of Object.entries(fields)) assert.deepEqual(value, key === 'requests' ? {} : null, key);
  assert.equal(description.notes.length, 1);
  assert.match(description.notes[0] ?? '', /may be forged .*: nothing was taken from it\./);
}

describe('describeJob', () => {
  it('takes the fields of a record from config', () => {
    assert.deepEqual(described(sampleConfig()), {
      host: 'ge1',
      group: 20007,
      systemd: null,
      array: false,
      notes: [],
      fields: {
        owner: 'alice',
        job_name: 'run.sh',
        queue: 'all.q',
        project: null,
        pe: 'smp',
        account: 'sge',
        program: null,
        slots: 2,
        host_slots: 2,
        granted_hosts: null,
        submitted_at: '2025-11-21T04:40:00.000Z',
        h_vmem: { request_bytes: GIB, limit_bytes: 2 * GIB, per: 'slot' },
        requests: {},
        request_order: null,
        pe_task_id: null,
      },
    });
  });

  it('describes an array task, a slave task and a job without a parallel environment', () => {
    const task = described(sampleConfig({ ja_task_id: '7' }), { ...RUN, task: 7 });
    assert.deepEqual([task.array, task.notes], [true, []]);
    assert.equal(described(samplePeTaskConfig, { ...RUN, peTask: '1.ge1' }).fields.pe_task_id, '1.ge1');
    assertNothingTaken(described(samplePeTaskConfig, { ...RUN, peTask: '2.ge1' }));
    const single = described(sampleConfig({ pe: 'none', pe_slots: '0', host_slots: '1' })).fields;
    assert.deepEqual([single.pe, single.slots, single.host_slots], [null, 1, 1]);
  });

  it('takes the slots of a slave task without host_slots from its job’s config, or else from pe_slots', () => {
    const slots = (task: string, configOfJob: string | null): unknown => {
      const { fields } = describeJob(task, { ...RUN, peTask: '1.ge1' }, USUAL_RULES, { configOfJob });
      return [fields.host_slots, fields.h_vmem?.limit_bytes];
    };
    const wide = samplePeTaskConfig.replace('pe_slots=2\n', 'pe_slots=4\n');
    assert.deepEqual(slots(wide, sampleConfig({ pe_slots: '4', host_slots: '3' })), [3, 3 * GIB]);
    assert.deepEqual(slots(wide, null), [4, 4 * GIB]);
    assert.deepEqual(slots(wide, sampleConfig({ job_id: '9', host_slots: '3' })), [1, GIB]);
    assert.deepEqual(slots(wide.replace('host_slots=0\n', 'host_slots=2\n'), null), [2, 2 * GIB]);
  });

  it('takes the granted hosts for the master of a parallel job only, and not with a forged config', () => {
    const hosts = 'ge1 2 all.q@ge1 UNDEFINED\nge2 1 all.q@ge2 UNDEFINED\n';
    const beside = (peHostfile: string) => ({ peHostfile });
    const granted = (text: string): unknown => describeJob(text, RUN, USUAL_RULES, beside(hosts)).fields.granted_hosts;
    assert.deepEqual(granted(sampleConfig()), [
      { host: 'ge1', slots: 2 },
      { host: 'ge2', slots: 1 },
    ]);
    const task = describeJob(samplePeTaskConfig, { ...RUN, peTask: '1.ge1' }, USUAL_RULES, beside(hosts)).fields;
    assert.deepEqual([task.pe_task_id, task.granted_hosts], ['1.ge1', null]);
    assert.equal(granted(sampleConfig({ pe: 'none' })), null);
    assert.equal(granted(sampleConfig({ cwd: '/home/alice\nhost_slots=64' })), null);
    assert.equal(describeJob(sampleConfig(), RUN, USUAL_RULES, beside('nothing of use')).fields.granted_hosts, null);
  });

  it('identifies the program by execd’s copy of the script, or by a command in config', () => {
    const program = (changes: Parameters<typeof sampleConfig>[0], script: Buffer | null = null): string | null =>
      describeJob(sampleConfig(changes), RUN, USUAL_RULES, { script }).fields.program;
    const script = Buffer.from('sim 1\n');
    assert.equal(program({}, script), programDigest({ script }, '/home/alice'));
    assert.equal(program({}), null);
    const command = { handle_as_binary: '1', script_file: '/opt/sim' };
    assert.equal(program(command, script), programDigest({ command: '/opt/sim' }, '/home/alice'));
    assert.equal(program({ script_file: 'QRSH', handle_as_binary: '1' }, script), null);
    assert.equal(program({ script_file: 'QLOGIN' }, script), null);
    assert.equal(program({ script_file: 'x\ncwd=/tmp' }, script), null);
    const task = describeJob(samplePeTaskConfig, { ...RUN, peTask: '1.ge1' }, USUAL_RULES, { script });
    assert.equal(task.fields.program, null);
  });

  it('has the slots of the job and those on this host', () => {
    const { fields } = described(sampleConfig({ pe_slots: '64', host_slots: '16' }));
    assert.deepEqual([fields.slots, fields.host_slots], [64, 16]);
    assert.equal(fields.h_vmem?.limit_bytes, 16 * GIB);
  });

  it('scales requests as Grid Engine does', () => {
    const { fields } = described(
      sampleConfig({ h_vmem: '4g', h_vmem_is_consumable_job: '1', s_vmem: '2G', h_rss: '1M', s_rss: 'INFINITY' }),
    );
    assert.deepEqual(fields.h_vmem, { request_bytes: 4e9, limit_bytes: 4e9, per: 'job' });
    assert.deepEqual(fields.requests, {
      s_vmem: { request_bytes: 2 * GIB, limit_bytes: 4 * GIB, per: 'slot' },
      h_rss: { request_bytes: 2 ** 20, limit_bytes: 2 ** 21, per: 'slot' },
    });
    assert.equal(described(sampleConfig({ h_vmem: 'INFINITY' })).fields.h_vmem, null);
    // Which consumables are HOST, `config` does not say.
    const rules = new RequestRules({ ...DEFAULT_SETTINGS, host_complexes: ['h_vmem'] });
    assert.deepEqual(describeJob(sampleConfig({ h_vmem: '4G' }), RUN, rules).fields.h_vmem, {
      request_bytes: 4 * GIB,
      limit_bytes: 4 * GIB,
      per: 'host',
    });
  });

  it('has the limit in force where the shepherd sets more than was requested', () => {
    const { fields } = described(sampleConfig({ h_vmem: '1M' }));
    assert.deepEqual(fields.h_vmem, { request_bytes: 2 ** 20, limit_bytes: 20 * 2 ** 20, per: 'slot' });
  });

  it('has no group where config has none', () => {
    assert.equal(described(sampleConfig({ add_grp_id: null })).group, null);
  });

  it('says that config can’t be used when it is cut short', () => {
    const text = sampleConfig();
    const { fields, notes, array } = described(text.slice(0, text.indexOf('job_owner')), { ...RUN, task: 3 });
    assert.equal(fields.owner, null);
    assert.equal(array, true);
    assert.match(notes[0] ?? '', /could not be used: config has no/);
  });

  it('takes nothing from a config of another job or array task', () => {
    assertNothingTaken(described(sampleConfig(), { ...RUN, job: 1517 }));
    assertNothingTaken(described(sampleConfig(), { ...RUN, task: 2 }));
    assertNothingTaken(described(sampleConfig({ ja_task_id: '5' })));
  });

  it('takes nothing from a config in which a value with a newline forges keys', () => {
    for (const changes of [
      { stdout_path: '/tmp/x\nh_vmem=1T' },
      { stderr_path: '/tmp/x\njob_owner=root' },
      { stdin_path: '/tmp/x\nhost_slots=1000' },
      { job_arg1: 'x\nh_vmem=64G' },
      { cwd: '/home/alice\nhost_slots=64' },
      { job_name: 'x\njob_owner=bob' },
      { account: 'x\nqueue=long.q' },
      { stdout_path: '/tmp/x\nhost=ge9' },
      {
        mail_list:
          'a@b\nmail_options=0\nqueue=long.q\nhost=ge9\njob_name=x\njob_id=1516\nja_task_id=0\naccount=a\nsubmission_time=1\nacct_project=genes\nnjob_args=0',
      },
    ])
      assertNothingTaken(described(sampleConfig(changes)));
  });

  it('has the limit under which the hook ran where config is forged', () => {
    const { fields } = described(sampleConfig({ stdout_path: '/tmp/x\nh_vmem=1T' }), {
      ...RUN,
      addressSpaceKib: 2097152,
    });
    assert.deepEqual(fields.h_vmem, { request_bytes: null, limit_bytes: 2 * GIB, per: 'job' });
    assert.equal(fields.owner, null);
  });

  it('accepts a newline in a job argument that forges nothing', () => {
    assert.deepEqual(described(sampleConfig({ job_arg1: 'line\nand line\njob_owner=root\n' })).notes, []);
    assert.equal(described(sampleConfig({ job_arg1: 'x\njob_owner=root' })).fields.owner, 'alice');
  });

  it('has an owner or a note on any text', () => {
    const lines = sampleConfig().split('\n');
    const text = fc
      .array(fc.oneof(fc.constantFrom(...lines), fc.string({ maxLength: 30 })), { maxLength: 200 })
      .map((all) => all.join('\n'));
    fc.assert(
      fc.property(text, (garbage) => {
        const description = described(garbage);
        assert.ok(description.notes.length === 1 || description.fields.owner !== null);
      }),
    );
  });
});

describe('undescribed', () => {
  it('knows nothing but what the hook was called with', () => {
    assert.deepEqual(undescribed(4, 'why').notes, ['why']);
    assert.equal(undescribed(4, 'why').array, true);
    assert.equal(undescribed(0, 'why').array, false);
    assert.equal(undescribed(0, 'why').fields.owner, null);
  });
});

describe('files of a spool directory', () => {
  it('are read once they are complete', () => {
    const spool = temporaryDirectory();
    assert.equal(readUsage(spool), null);
    assert.equal(readJobPid(spool), null);
    // The shepherd creates the file, and writes it as a whole a moment later.
    for (const torn of ['', 'exit_sta']) {
      writeFileSync(join(spool, 'usage'), torn);
      assert.equal(readUsage(spool), null);
    }
    writeFileSync(join(spool, 'usage'), 'exit_status=137\nru_maxrss=315172\n');
    writeFileSync(join(spool, 'job_pid'), '4711\n');
    assert.equal(readUsage(spool)?.exitStatus, 137);
    assert.equal(readUsage(spool)?.maxrssBytes, 315172 * 1024);
    assert.equal(readJobPid(spool), 4711);
  });

  it('give no pid of 1 or less, and none that is not a number', () => {
    const spool = temporaryDirectory();
    for (const text of ['', '0', '1', '-1', '-4711', 'x', '99999999999999999999']) {
      writeFileSync(join(spool, 'job_pid'), text);
      assert.equal(readJobPid(spool), null, text);
    }
  });

  it('are not read where they are symbolic links or directories', () => {
    const spool = temporaryDirectory();
    writeFileSync(join(spool, 'real'), sampleUsage);
    symlinkSync('real', join(spool, 'usage'));
    assert.equal(readUsage(spool), null);
    rmSync(join(spool, 'usage'));
    mkdirSync(join(spool, 'usage'));
    assert.equal(readUsage(spool), null);
    rmSync(join(spool, 'usage'), { recursive: true });
    linkSync(join(spool, 'real'), join(spool, 'usage'));
    assert.notEqual(readUsage(spool), null);
  });

  it('are not read above 1 MiB', () => {
    const spool = temporaryDirectory();
    writeFileSync(join(spool, 'config'), 'x'.repeat(2 ** 20 + 1));
    assert.equal(trustedSpoolFile(spool, 'config'), null);
  });

  it(
    'include execd’s copy of the script, if it is root’s, a plain file and not too long',
    { skip: process.getuid?.() !== 0 },
    () => {
      const root = temporaryDirectory();
      const spool = join(root, 'active_jobs', '12.1');
      const copy = join(root, 'job_scripts', '12');
      mkdirSync(spool, { recursive: true });
      mkdirSync(join(root, 'job_scripts'));
      assert.equal(spooledScript(spool), null);
      writeFileSync(copy, 'sim\n');
      assert.equal(spooledScript(spool)?.toString(), 'sim\n');
      chownSync(copy, 65534, 65534);
      assert.equal(spooledScript(spool), null, 'of another user');
      rmSync(copy);
      symlinkSync('/etc/passwd', copy);
      assert.equal(spooledScript(spool), null, 'a link');
      rmSync(copy);
      execFileSync('mkfifo', [copy]);
      assert.equal(spooledScript(spool), null, 'a FIFO');
      rmSync(copy);
      writeFileSync(copy, 'x'.repeat(LONGEST_SCRIPT + 1));
      assert.equal(spooledScript(spool), null, 'too long');
    },
  );

  it('are read only where root or the directory’s owner owns them', { skip: process.getuid?.() !== 0 }, () => {
    const spool = temporaryDirectory();
    writeFileSync(join(spool, 'usage'), sampleUsage);
    chownSync(join(spool, 'usage'), 65534, 65534);
    assert.equal(readUsage(spool), null);
    chownSync(spool, 65534, 65534);
    assert.notEqual(readUsage(spool), null);
    chownSync(join(spool, 'usage'), 0, 0);
    assert.notEqual(readUsage(spool), null);
  });
});
