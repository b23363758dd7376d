/**
 * Spool files as execd and the shepherd of 8.1.9 write them, line by line in their order (compared with a running
 * cell).
 */

/** `config` of a batch job with two slots; `changes` replaces values, a null removes the line. */
export function sampleConfig(changes: Readonly<Record<string, string | null>> = {}): string {
  return sampleLines
    .flatMap(([key, value]) => {
      const changed = changes[key];
      return changed === null ? [] : [`${key}=${changed ?? value}\n`];
    })
    .join('');
}

const sampleLines: readonly (readonly [string, string])[] = [
  ['add_grp_id', '20007'],
  ['fs_stdin_host', '""'],
  ['fs_stdin_path', ''],
  ['fs_stdin_tmp_path', '/tmp/1516.1.all.q/'],
  ['fs_stdin_file_staging', '0'],
  ['fs_stdout_host', '""'],
  ['fs_stdout_path', ''],
  ['fs_stdout_tmp_path', '/tmp/1516.1.all.q/'],
  ['fs_stdout_file_staging', '0'],
  ['fs_stderr_host', '""'],
  ['fs_stderr_path', ''],
  ['fs_stderr_tmp_path', '/tmp/1516.1.all.q/'],
  ['fs_stderr_file_staging', '0'],
  ['stdout_path', '/home/alice/run.sh.o1516'],
  ['stderr_path', '/home/alice/run.sh.e1516'],
  ['stdin_path', '/dev/null'],
  ['merge_stderr', '0'],
  ['tmpdir', '/tmp/1516.1.all.q'],
  ['handle_as_binary', '0'],
  ['no_shell', '0'],
  ['ckpt_job', '0'],
  ...['vmem', 'cpu', 'stack', 'data'].flatMap((resource): [string, string][] => [
    [`h_${resource}`, resource === 'vmem' ? '1G' : 'INFINITY'],
    [`h_${resource}_is_consumable_job`, '0'],
    [`s_${resource}`, 'INFINITY'],
    [`s_${resource}_is_consumable_job`, '0'],
  ]),
  ...['core', 'rss', 'fsize'].flatMap((resource): [string, string][] => [
    [`h_${resource}`, 'INFINITY'],
    [`s_${resource}`, 'INFINITY'],
  ]),
  ...['descriptors', 'maxproc', 'memorylocked', 'locks'].flatMap((resource): [string, string][] => [
    [`s_${resource}`, 'UNDEFINED'],
    [`h_${resource}`, 'UNDEFINED'],
  ]),
  ['priority', '0'],
  ['shell_path', '/bin/bash'],
  ['script_file', '/var/spool/gridengine/execd/ge1/job_scripts/1516'],
  ['job_owner', 'alice'],
  ['min_gid', '1000'],
  ['min_uid', '1000'],
  ['cwd', '/home/alice'],
  ['prolog', 'root@/usr/bin/env -i /bin/sh -p /opt/qmemacct/hooks/prolog.sh $job_id $ja_task_id'],
  ['epilog', 'none'],
  ['starter_method', 'NONE'],
  ['suspend_method', 'NONE'],
  ['resume_method', 'NONE'],
  ['terminate_method', 'NONE'],
  ['script_timeout', '120'],
  ['pe', 'smp'],
  ['pe_slots', '2'],
  ['host_slots', '2'],
  ['pe_hostfile', '/var/spool/gridengine/execd/ge1/active_jobs/1516.1/pe_hostfile'],
  ['pe_start', 'none'],
  ['pe_stop', 'none'],
  ['pe_stdout_path', '/home/alice/run.sh.po1516'],
  ['pe_stderr_path', '/home/alice/run.sh.pe1516'],
  ['shell_start_mode', 'posix_compliant'],
  ['use_login_shell', '1'],
  ['mail_list', 'alice@master'],
  ['mail_options', '0'],
  ['forbid_reschedule', '0'],
  ['forbid_apperror', '0'],
  ['queue', 'all.q'],
  ['host', 'ge1'],
  ['processors', 'UNDEFINED'],
  ['binding', 'NULL'],
  ['job_name', 'run.sh'],
  ['job_id', '1516'],
  ['ja_task_id', '0'],
  ['account', 'sge'],
  ['submission_time', '1763700000'],
  ['notify', '0'],
  ['acct_project', 'none'],
  ['njob_args', '2'],
  ['job_arg1', '--size=big'],
  ['job_arg2', 'x'],
  ['queue_tmpdir', '/tmp'],
  ['use_afs', '0'],
  ['admin_user', 'sgeadmin'],
  ['notify_kill_type', '1'],
  ['notify_kill', 'default'],
  ['notify_susp_type', '1'],
  ['notify_susp', 'default'],
  ['qsub_gid', 'no'],
  ['pty', '0'],
  ['write_osjob_id', '1'],
  ['inherit_env', '1'],
  ['enable_windomacc', '0'],
  ['enable_addgrp_kill', '1'],
  ['csp', '0'],
  ['ignore_fqdn', '0'],
  ['default_domain', 'none'],
];

/**
 * `config` of the `qrsh -inherit` task 1.ge1 of the same job: the id stands in two places, the limits are for one slot.
 */
export const samplePeTaskConfig = sampleConfig({ prolog: 'none', host_slots: '0', job_name: 'petask', njob_args: '0' })
  .replace(/job_arg.*\n/g, '')
  .replace('ja_task_id=0\n', 'ja_task_id=0\npe_task_id=1.ge1\n')
  .replace(
    'pty=0\n',
    'pe_task_id=1.ge1\npty=2\nmaster_host=ge1\ncommd_port=-1\nqrsh_control_port=ge1:41503\nrsh_daemon=builtin\n' +
      'qrsh_tmpdir=/tmp/1516.1.all.q\nqrsh_pid_file=/tmp/1516.1.all.q/pid.1.ge1\n',
  );

/** `usage` of a job that was killed, from a running 8.1.9. */
export const sampleUsage = `wait_status=3727362
exit_status=137
signal=9
start_time=1795248478
end_time=1795248479
ru_wallclock=1
ru_utime=0.004520
ru_stime=0.003293
ru_maxrss=4580
ru_ixrss=0
ru_idrss=0
ru_isrss=0
ru_minflt=538
ru_majflt=0
ru_nswap=0
ru_inblock=0
ru_oublock=16
ru_msgsnd=0
ru_msgrcv=0
ru_nsignals=0
ru_nvcsw=5
ru_nivcsw=8
`;
