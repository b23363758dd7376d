import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { identityMismatches, parseSpoolConfig, type SpoolConfig } from '../../src/gridengine/spool-config';
import { sampleConfig, samplePeTaskConfig } from './spool-samples';

function parsed(text: string): SpoolConfig {
  const result = parseSpoolConfig(text);
  assert.ok(result.ok, result.ok ? '' : result.error);
  return result.value;
}

describe('parseSpoolConfig', () => {
  it('reads a batch job', () => {
    const config = parsed(sampleConfig());
    assert.deepEqual(config.ambiguous, []);
    assert.equal(config.jobId, 1516);
    assert.equal(config.task, 0);
    assert.equal(config.peTaskId, null);
    assert.equal(config.owner, 'alice');
    assert.equal(config.jobName, 'run.sh');
    assert.equal(config.account, 'sge');
    assert.equal(config.project, null);
    assert.equal(config.queue, 'all.q');
    assert.equal(config.host, 'ge1');
    assert.equal(config.submissionTimeMs, 1763700000000);
    assert.equal(config.pe, 'smp');
    assert.equal(config.peSlots, 2);
    assert.equal(config.hostSlots, 2);
    assert.equal(config.addGrpId, 20007);
    assert.deepEqual(config.limits.get('h_vmem'), { text: '1G', per: 'slot' });
    assert.deepEqual(config.limits.get('s_data'), { text: 'INFINITY', per: 'slot' });
    assert.equal(config.systemd, null);
    assert.deepEqual([config.command, config.hasScript, config.directory], [null, true, '/home/alice']);
    const binary = parsed(sampleConfig({ handle_as_binary: '1', script_file: 'sleep' }));
    assert.deepEqual([binary.command, binary.hasScript], ['sleep', false]);
  });

  it('reads a PE task, whose id is written twice, and host_slots 0 as null', () => {
    const config = parsed(samplePeTaskConfig);
    assert.deepEqual(config.ambiguous, []);
    assert.equal(config.peTaskId, '1.ge1');
    assert.equal(config.hostSlots, null);
  });

  it('reads an array task, a project, a consumable JOB', () => {
    const config = parsed(sampleConfig({ ja_task_id: '17', acct_project: 'genes', h_vmem_is_consumable_job: '1' }));
    assert.equal(config.task, 17);
    assert.equal(config.project, 'genes');
    assert.equal(config.limits.get('h_vmem')?.per, 'job');
  });

  it('reads the additions of the daimh fork', () => {
    const config = parsed(sampleConfig({ qsub_gid: 'no\nuse_systemd=yes\nmem_limit=2G' }));
    assert.deepEqual(config.ambiguous, []);
    assert.deepEqual(config.systemd, { scope: null });
    assert.equal(config.memLimit, '2G');
  });

  it('reads the additions of Open Cluster Scheduler, microseconds too', () => {
    const extra =
      'enable_systemd=1\nsystemd_slice=ocs6444-jobs.slice\nsystemd_scope=ocs6444.1516.scope\ndevices_allow=';
    const config = parsed(sampleConfig({ use_login_shell: `1\n${extra}`, submission_time: '1763700000123456' }));
    assert.deepEqual(config.ambiguous, []);
    assert.equal(config.submissionTimeMs, 1763700000123);
    assert.deepEqual(config.systemd, { scope: 'ocs6444.1516.scope' });
  });

  it('accepts keys of unknown versions', () => {
    assert.deepEqual(parsed(sampleConfig({ cwd: '/home/alice\nsome_new_key=1', csp: '0\nother_key=x' })).ambiguous, []);
  });

  it('refuses a file without an identity, with a malformed job id or of more than 1 MiB', () => {
    assert.deepEqual(parseSpoolConfig(''), { ok: false, error: 'config has no job_id' });
    assert.equal(parseSpoolConfig(sampleConfig().slice(0, 1200)).ok, false);
    assert.equal(parseSpoolConfig(sampleConfig({ job_owner: null })).ok, false);
    assert.equal(parseSpoolConfig(sampleConfig({ job_id: '12x' })).ok, false);
    assert.equal(parseSpoolConfig('x'.repeat(1024 * 1024 + 1)).ok, false);
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseSpoolConfig(text)));
    fc.assert(
      fc.property(fc.string(), fc.nat(3000), (text, position) => {
        const config = sampleConfig();
        void parseSpoolConfig(config.slice(0, position) + text + config.slice(position));
      }),
    );
  });
});

describe('identityMismatches', () => {
  it('is empty where the directory agrees: a job without array tasks has task 1 there', () => {
    assert.deepEqual(identityMismatches(parsed(sampleConfig()), { jobId: 1516, task: 1 }), []);
    assert.deepEqual(identityMismatches(parsed(samplePeTaskConfig), { jobId: 1516, task: 1, peTaskId: '1.ge1' }), []);
  });

  it('lists each difference', () => {
    assert.equal(identityMismatches(parsed(samplePeTaskConfig), { jobId: 1517, task: 2 }).length, 3);
  });
});
