import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { InboxState } from '../../accounting/postgres/settle';
import { MOUNT_WRITABLE } from '../../accounting/sqlite/database/denied';
import { UserError, reasonOf } from '../../base/user-error';
import { checkJson } from '../../base/shape';
import { packageRoot } from '../../base/package-root';
import { programPath } from '../../base/programs';
import type { Settings } from '../../record/settings';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import { formatDuration } from '../../report/format/units';
import { siteFiles } from '../import/import-site';
import type { Terminal } from '../terminal';
import { delivererName } from '../stores/maintenance';
import { findingsIn, type Finding } from './finding';
import type { HostRole } from './host-role';
import { checkSize } from './check-size';
import type { NodeState } from './node-state';
import { storeProbe, type StoreProbe } from './store-answer';

const { ok, note, warning, problem } = findingsIn('accounting');

type Role = Pick<HostRole, 'runsJobs'>;

/** The cluster and the accounting file that an import here would read next; empty: not found (the import says why). */
function followedFile(settings: Settings, env: Terminal['env']): readonly string[] {
  try {
    const { cluster, look } = siteFiles(settings, env);
    return [cluster, ...look().slice(-1)];
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}

function runProbe(
  { conf, settings }: NodeState,
  identity: ReturnType<typeof delivererIdentity>,
  env: Terminal['env'],
): StoreProbe {
  const installed = conf === null ? '' : programPath('cli/doctor/store-probe', conf.program);
  const script = existsSync(installed) ? installed : programPath('cli/doctor/store-probe');
  const output = execFileSync(
    process.execPath,
    [script, settings.accounting, settings.accounting_credentials, ...followedFile(settings, env)],
    {
      cwd: '/',
      encoding: 'utf8',
      timeout: 30_000,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: '/usr/bin:/bin' },
      ...(identity ?? {}),
    },
  );
  const found = checkJson(storeProbe, output, 'the answer of store-probe.js');
  if (!found.ok) throw new Error(found.error);
  return found.value;
}

const MOST_WAITING = 10_000;
const LONGEST_WAIT_SECONDS = 600;

function* checkInbox({ rows, oldest, unreadable }: InboxState): Generator<Finding> {
  const minutes = Math.floor(oldest / 60);
  if (rows > MOST_WAITING || oldest > LONGEST_WAIT_SECONDS)
    yield warning(
      'inbox',
      `${rows} accounts of ended jobs wait in it, the oldest for ${minutes} min: questions take longer`,
      'run "qmemacct serve" as a member of qmemacct_owner, or "qmemacct settle" every minute by cron',
    );
  if (unreadable > 0)
    yield warning(
      'inbox',
      `${unreadable} accounts in it can't be read`,
      'see "SELECT job_id, error FROM qmemacct.inbox WHERE error IS NOT NULL"; set their error to NULL after an upgrade of the server, or delete them',
    );
}

function useFix(accounting: string, who: string, reason: string): string {
  if (reason.startsWith('ENOENT')) return `make ${dirname(accounting)}, or mount its file system`;
  if (reason.startsWith('EROFS')) return MOUNT_WRITABLE;
  return `let ${who} write to it and its directory, or change accounting or deliver_as`;
}

function* checkStore(
  { settings: { accounting } }: NodeState,
  who: string,
  probe: StoreProbe,
  { runsJobs }: Role,
  now: Date,
): Generator<Finding> {
  const place = `${accounting}${probe.network === null ? '' : ` (${probe.network})`}`;
  if (probe.problem !== null) {
    const says = `${accounting}: ${who} can't use it: ${probe.problem}${runsJobs ? '; records wait in node.db' : ''}`;
    yield (runsJobs ? problem : warning)('accounting DB', says, probe.fix ?? useFix(accounting, who, probe.problem));
    return;
  }
  if (probe.damage !== null) {
    yield problem(
      'accounting DB',
      `${place}: the file is damaged: ${probe.damage}`,
      'stop what writes to it and put a backup back, or save what can be read by sqlite3 FILE .recover',
    );
    return;
  }
  if (probe.exists) yield ok('accounting DB', `${place}: ${who} can write to it`);
  else yield note('accounting DB', `${place}: not there yet; ${who} makes it with the first record`);
  if (probe.inbox !== null) yield* checkInbox(probe.inbox);
  const { at = null, refused = null } = probe.imported ?? {};
  if (refused !== null) yield problem('import', refused.says, refused.fix);
  if (at !== null) {
    const age = formatDuration(Math.max(0, Math.round((now.getTime() - at) / 1000)));
    yield ok('import', `lines of Grid Engine's accounting last came ${age} ago`);
  }
  if (probe.size !== null) yield checkSize(probe.size, now);
  if (probe.wal && probe.network !== null)
    yield problem(
      'accounting DB',
      `${place}: its journal is a write-ahead log, which corrupts it on a network file system`,
      'sqlite3 FILE "PRAGMA journal_mode=DELETE" on one host while nobody uses it',
    );
}

/** Checks the accounting DB as the deliverer sees it; where no jobs run, only if a configuration file exists. */
export function checkAccounting(state: NodeState, role: Role, now: Date, env: Terminal['env']): Finding[] {
  const { settings, settingsPath, isRoot } = state;
  if (!role.runsJobs && !existsSync(settingsPath)) return [];
  const who = `user "${delivererName(settings)}"`;
  let identity: ReturnType<typeof delivererIdentity>;
  try {
    identity = delivererIdentity(settings.deliver_as);
  } catch (error) {
    return [problem('deliver_as', reasonOf(error), `set deliver_as in ${settingsPath}`)];
  }
  if (!isRoot) return [note('deliver_as', `not tried as ${who}: run this as root`)];
  const named =
    settings.deliver_as === ''
      ? warning(
          'deliver_as',
          `not set: "nobody" delivers, whom other services may use as well`,
          `set deliver_as in ${settingsPath}`,
        )
      : ok('deliver_as', settings.deliver_as);
  try {
    return [named, ...checkStore(state, who, runProbe(state, identity, env), role, now)];
  } catch (error) {
    const says = `it could not be tried as ${who}: ${reasonOf(error)}`;
    return [named, problem('accounting DB', says, `see that ${who} can read the program in ${packageRoot()}`)];
  }
}
