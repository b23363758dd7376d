import type { Database } from 'better-sqlite3';
import { MIB } from '../../base/units';
import { reasonOf } from '../../base/user-error';
import { SqliteDatabase } from '../../native/sqlite';
import { untrusted } from '../../base/trusted-path';
import { userName } from '../../base/user-name';
import { existsSync, statSync, statfsSync, type StatsFs } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatBytes, formatDuration, plural } from '../../report/format/units';
import { outboxPaths, pathsByUser } from '../../sampler/delivery/handed-files';
import { startTicksOf } from '../../sampler/job/pid-file';
import { shepherdLives } from '../../sampler/job/run-description';
import { outboxState, type OutboxState } from '../../sampler/node-store/outbox-state';
import { listNames } from '../../sources/files';
import { RunDirectory } from '../../sampler/job/run-directory';
import { directoryFault, nodeDirectories } from '../install/directories';
import { networkFilesystemOf } from '../install/local-path';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, note, warning, problem } = findingsIn('state');

const LEAST_FREE = 64 * MIB;
const LITTLE_FREE = 512 * MIB;
const LEAST_INODES = 1000;
const LONG_WAIT_S = 3600;

function checkDirectories({ settings, settingsPath }: NodeState): Finding[] {
  const faults = nodeDirectories(settings).flatMap((wanted) => {
    const fault = directoryFault(wanted);
    return fault === null ? [] : [`${wanted.path} ${fault}`];
  });
  const findings = faults.map((fault) => problem('directories', fault, 'run "qmemacct install --node"'));
  for (const [what, path] of [
    ['state', settings.state_dir],
    ['run-time', settings.run_dir],
    ['configuration', settingsPath],
  ] as const) {
    const network = networkFilesystemOf(path);
    if (network !== null)
      findings.push(
        problem(
          'directories',
          `${path} (${what}) lies on ${network}: hooks would hang with it`,
          'move it to a local disk',
        ),
      );
    const distrust = untrusted(path);
    if (distrust !== null)
      findings.push(problem('directories', `${distrust}, and root trusts ${path}`, 'take that permission away'));
  }
  return findings.length > 0
    ? findings
    : [ok('directories', `${settings.state_dir} and ${settings.run_dir}: local, owners and modes right`)];
}

type Room = Pick<StatsFs, 'bavail' | 'bsize' | 'ffree' | 'files'>;

/** Whether the file system of `path` has enough free space and inodes. `fix`: what to do about too little space. */
export function spaceFinding(path: string, { bavail, bsize, ffree, files }: Room, fix: string): Finding {
  const free = bavail * bsize;
  const says = `${formatBytes(free)} free in ${path}`;
  const cost = "summaries can't be written soon";
  if (free < LEAST_FREE) return problem('space', `${says}: ${cost}`, fix);
  // A file system without a fixed number of inodes reports 0.
  if (files > 0 && ffree < LEAST_INODES)
    return problem(
      'space',
      `${says}, but inodes for only ${plural(ffree, 'file')} more: ${cost}`,
      'remove files there (df -i), or give that file system more inodes',
    );
  return free < LITTLE_FREE ? warning('space', says, fix) : ok('space', says);
}

const checkSpace = (path: string, fix: string): Finding[] =>
  existsSync(path) ? [spaceFinding(path, statfsSync(path), fix)] : [];

/** What follows once a damaged node.db is out of the way. */
const MOVED_AWAY =
  'the next sampler makes a new one. Keep the old one: records in it that are not delivered yet are nowhere else, and "sqlite3 FILE .recover" may save them';

/** Safe while samplers write: in WAL mode a reader blocks no writer, and this one is closed at once. */
function checkNodeDb({ settings, isRoot }: NodeState, now: Date): Finding[] {
  const path = join(settings.state_dir, 'node.db');
  if (!isRoot) return [note('node.db', 'only root can look at it; run this as root')];
  if (!existsSync(path)) return [note('node.db', 'none yet: it comes with the first job')];
  let database: Database | null = null;
  try {
    database = new SqliteDatabase(path, { readonly: true, timeout: 2000 });
    const check = database.pragma('quick_check(1)', { simple: true });
    if (check !== 'ok') {
      const fix = `stop the jobs here, move ${path}* away; ${MOVED_AWAY}`;
      return [problem('node.db', `${path} is damaged: ${String(check)}`, fix)];
    }
    const jobs = database.prepare<[], { count: number }>('SELECT count(*) AS count FROM job').get()?.count ?? 0;
    return [
      ok('node.db', `healthy, ${formatBytes(statSync(path).size)}, ${jobs} jobs`),
      ...checkOutbox(outboxState(database), now),
    ];
  } catch (error) {
    return [problem('node.db', `${path}: ${reasonOf(error)}`, `if it stays so, move it away; ${MOVED_AWAY}`)];
  } finally {
    database?.close();
  }
}

function* checkOutbox({ waiting, oldest, refused, reason }: OutboxState, now: Date): Generator<Finding> {
  const age = oldest === null ? 0 : Math.max(0, (now.getTime() - oldest) / 1000);
  const says = `${plural(waiting, 'record waits', 'records wait')} for the accounting DB`;
  if (waiting === 0) yield ok('outbox', 'empty: everything is delivered');
  else if (age > LONG_WAIT_S)
    yield problem(
      'outbox',
      `${says}, the oldest for ${formatDuration(age)}`,
      '"qmemacct flush" tries, and shows why not',
    );
  else yield note('outbox', says);
  if (refused > 0)
    yield warning(
      'outbox',
      `${refused} refused by the accounting DB for good: ${reason ?? ''}`,
      'report this as a bug',
    );
}

/** Finds runs whose shepherd and sampler are gone; the next sampler, or `flush`, finishes them. */
function* checkOrphans({ settings, isRoot }: NodeState): Generator<Finding> {
  if (!isRoot) return;
  const directories = [...RunDirectory.list(settings.state_dir), ...RunDirectory.list(settings.run_dir)];
  const orphans = directories.filter((directory) => {
    const run = directory.description();
    if (run === null) return Date.now() - directory.changedMs() > 60_000;
    if (shepherdLives(run)) return false;
    const pid = directory.samplerPid();
    return pid === null || startTicksOf(pid) === null;
  });
  if (orphans.length === 0)
    yield ok('runs', `${plural(directories.length, 'job is', 'jobs are')} being measured, none is left alone`);
  else yield warning('runs', `${orphans.length} ended without epilog and sampler`, '"qmemacct flush" finishes them');
}

/** Files that hooks without root's rights have handed over. */
function* checkHanded({ settings, isRoot }: NodeState): Generator<Finding> {
  const outbox = join(settings.state_dir, 'outbox');
  const handed = isRoot ? listNames(outbox).length : 0;
  if (handed === 0) return;
  const whose = `, most by ${mostIn(outbox)}`;
  if (settings.accept_self_reported)
    yield note('runs', `${handed} records of jobs' owners wait to be taken in${whose}`, '"qmemacct flush" does that');
  else
    yield note(
      'runs',
      `${handed} files of users lie in ${outbox} and are not taken${whose}`,
      'where the hooks run as the job\'s owner ("install --plain") set accept_self_reported = true; else remove them',
    );
}

/** The user with the most entries in a directory, judged by up to 10,000 of them and for 2 s at most. */
function mostIn(directory: string): string {
  const end = Date.now() + 2000;
  const goOn = (): boolean => Date.now() < end;
  const { files, leftovers } = outboxPaths(directory, 10_000, goOn);
  const [most] = [...pathsByUser([...files, ...leftovers], goOn)].sort(([, a], [, b]) => b.length - a.length);
  return most === undefined ? 'nobody now' : userName(most[0]);
}

/** Checks directories, node.db, and the records and runs that wait in them. */
export function checkState(state: NodeState, now: Date): Finding[] {
  const { state_dir: stateDir, run_dir: runDir } = state.settings;
  if (!existsSync(stateDir))
    return [
      warning(
        'directories',
        `${stateDir} does not exist: nothing is installed on this host`,
        'run "qmemacct install --node" if jobs run here',
      ),
    ];
  return [
    ...checkDirectories(state),
    ...checkSpace(stateDir, 'make room, or lower keep_samples_mib'),
    // The run directory holds no samples, so lowering keep_samples_mib would not help here.
    ...checkSpace(existsSync(runDir) ? runDir : dirname(runDir), 'make room'),
    ...checkNodeDb(state, now),
    ...checkOrphans(state),
    ...checkHanded(state),
  ];
}
