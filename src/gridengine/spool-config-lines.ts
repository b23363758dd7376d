import { keyValueLines, type KeyValueLine } from './key-value-lines';

interface SpoolConfigLines {
  /** The first value of each key; the job's arguments are left out. */
  readonly values: ReadonlyMap<string, string>;
  /** One sentence for each sign that a value with a newline forges keys. */
  readonly ambiguous: readonly string[];
}

/**
 * What execd writes directly behind a value that the user can choose (daemons/execd/exec_job.c; the order is the same
 * in 6.2, OGS, 8.1.9 and Open Cluster Scheduler). Another known key there was smuggled in by a newline in that value.
 */
const successors: ReadonlyMap<string, readonly string[]> = new Map([
  ...['stdin', 'stdout', 'stderr'].flatMap((stream): [string, string[]][] => [
    [`fs_${stream}_host`, [`fs_${stream}_path`]],
    [`fs_${stream}_path`, [`fs_${stream}_tmp_path`]],
    [`fs_${stream}_tmp_path`, [`fs_${stream}_file_staging`]],
  ]),
  ['stdout_path', ['stderr_path']],
  ['stderr_path', ['stdin_path']],
  ['stdin_path', ['merge_stderr']],
  ['shell_path', ['script_file']],
  ['script_file', ['job_owner']],
  ['cwd', ['prolog']],
  ['pe_stdout_path', ['pe_stderr_path']],
  ['pe_stderr_path', ['shell_start_mode']],
  ['devices_allow', ['mail_list']],
  ['mail_list', ['mail_options']],
  ['job_name', ['job_id']],
  ['account', ['submission_time']],
  ['display', ['use_afs']],
  ['qrsh_control_port', ['qlogin_daemon', 'rsh_daemon', 'rlogin_daemon']],
]);

/**
 * After these keys not even an unknown key is accepted; elsewhere a version of Grid Engine that we have not seen may
 * add some.
 */
const strictKey = /^(fs_)?std(in|out|err)_/;

/** Keys that a genuine file may lack, so that a forged one is no duplicate: each must follow the key given here. */
const predecessors: ReadonlyMap<string, string> = new Map([
  ['pe_task_id', 'ja_task_id'],
  ['use_systemd', 'qsub_gid'],
  ['mem_limit', 'use_systemd'],
  ['enable_systemd', 'use_login_shell'],
  ['systemd_slice', 'enable_systemd'],
  ['systemd_scope', 'systemd_slice'],
]);

const limitName =
  'host_slots|[hs]_(?:cpu|data|stack|vmem|core|rss|fsize|descriptors|maxproc|memorylocked|locks)(?:_is_consumable_job)?';

/**
 * A limit. The shepherd takes the last one in the file, even one in an argument (libs/uti/config_file.c). On 8.1.9
 * `qsub job.sh $'x\nh_vmem=INFINITY'` lifts the limit.
 */
const limitKey = new RegExp(`^(?:${limitName})$`);

const limitAnywhere = new RegExp(`(?:${limitName})[ =]`);

/** Bytes of the shepherd's line buffer: it reads the rest of a longer line as another line, seen on 8.1.9, too. */
const shepherdLineLength = 99_999;

export function readSpoolConfigLines(text: string): SpoolConfigLines {
  const values = new Map<string, string>();
  const ambiguous = new Set<string>();
  let inArguments = false;
  let previous = '';
  let awaited: { readonly key: string; readonly next: readonly string[] } | null = null;

  for (const line of keyValueLines(text)) {
    if (inArguments && line.key !== 'queue_tmpdir') {
      if (forgesLimit(line)) ambiguous.add('an argument of the job sets a limit in config');
      // With a forged njob_args, what follows it, also the genuine one, would be taken for arguments.
      if (line.key === 'njob_args') ambiguous.add('the arguments begin twice');
      continue;
    }
    inArguments = line.key === 'njob_args';
    const { key, value } = line;
    if (value === null || !/^[A-Za-z_]\w*$/.test(key)) {
      ambiguous.add(`a line after ${previous || 'the beginning'} is not a key=value`);
      continue;
    }
    if (values.has(key)) {
      if (key !== 'pe_task_id' || values.get(key) !== value) ambiguous.add(`${key} occurs twice`);
    } else {
      const place = predecessors.get(key);
      if (place !== undefined && place !== previous) ambiguous.add(`${key} is not in its place`);
      values.set(key, value);
    }
    if (awaited !== null) {
      if (awaited.next.includes(key)) awaited = null;
      else if (strictKey.test(awaited.key) || successors.has(key) || predecessors.has(key)) {
        ambiguous.add(`${key} follows ${awaited.key}`);
        awaited = null;
      }
    }
    const next = successors.get(key);
    if (next !== undefined) awaited = { key, next };
    previous = key;
  }
  return { values, ambiguous: [...ambiguous] };
}

function forgesLimit({ key, value }: KeyValueLine): boolean {
  const name = /^[ =]*([^ =]*)/.exec(key)?.[1] ?? '';
  if (limitKey.test(name)) return true;
  const overlong = Buffer.byteLength(`${key}=${value ?? ''}\n`) > shepherdLineLength;
  return overlong && limitAnywhere.test(value ?? '');
}
