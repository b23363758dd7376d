import { spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { otherCommandLines } from '../../base/command-lines';
import { programPath } from '../../base/programs';
import type { Ownership } from '../../base/set-owner';
import { check } from '../../base/shape';
import { tryLock } from '../../native/libc';
import { peerCredentials, type PeerCredentials } from '../../native/peer-credentials';
import { isPostgresUrl } from '../../record/postgres-url';
import type { Settings } from '../../record/settings';
import { ClientError, newServerClient } from '../../server/client/server-client';
import { healthShape } from '../../server/routes/health';
import { startTicksOf } from '../../sampler/job/pid-file';
import { delivererOwner } from '../stores/maintenance';
import { directorySteps } from './directories';
import { hookDirectory, type SystemPlaces } from './places';
import { isAttended, removalSteps, requirePlain, SERVER, setUpSteps, systemctl, type Host } from './services';
import type { Step } from './steps';
import { currentVersion } from './versions';

const ANSWERS_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 20_000;

interface ServerAnswer {
  /** What is wrong with it; null: nothing. */
  readonly problem: string | null;
  /** ms since the epoch; null: something else answers. */
  readonly startedAt: number | null;
}

/** What the server at the socket says of itself; null: none answers. */
export async function askServer(socket: string): Promise<ServerAnswer | null> {
  const client = newServerClient(socket);
  try {
    const { status, json } = await client.get('/v1/health');
    const health = check(healthShape, json, 'the answer');
    if (status !== 200 || !health.ok) return { problem: `something else answers at ${socket}`, startedAt: null };
    const { accounting, live, startedAt } = health.value;
    return { problem: [accounting.problem, ...live.problems].find((problem) => problem !== null) ?? null, startedAt };
  } catch (error) {
    if (error instanceof ClientError) return null;
    throw error;
  } finally {
    client.close();
  }
}

/** Asks the server until it reports no problem, 30 s at most; resolves to what is wrong, or null. */
async function waitForAnswer({ serve_socket: socket }: Settings): Promise<string | null> {
  const deadline = performance.now() + ANSWERS_WITHIN_MS;
  for (;;) {
    const answer = await askServer(socket);
    if (answer?.problem === null) return null;
    if (performance.now() > deadline)
      return answer === null
        ? `no server answers at ${socket} after ${ANSWERS_WITHIN_MS / 1000} s: the system log may show why; ${SERVER.without}`
        : `the server answers, but: ${answer.problem}`;
    await sleep(250);
  }
}

/** Starts the server as cron will do every minute from now on. */
function startNow(prefix: string, socket: string, { uid, gid }: Ownership): string | null {
  const script = `/bin/sh -p ${join(hookDirectory(prefix), 'serve.sh')} ${dirname(socket)} 2>&1 | logger -t qmemacct`;
  const become = ['--reuid', String(uid), '--regid', String(gid), '--init-groups'];
  const child = spawn('setpriv', [...become, '/bin/sh', '-c', script], {
    cwd: '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: 'ignore',
    detached: true,
  });
  child.on('error', () => undefined);
  child.unref();
  return null;
}

/** The process that made the socket; null: nothing answers there. */
async function serverAt(socket: string): Promise<PeerCredentials | null> {
  return new Promise((resolve) => {
    const probe = connect(socket);
    const end = (found: PeerCredentials | null): void => {
      probe.destroy();
      resolve(found);
    };
    probe.once('connect', () => end(peerCredentials(probe)));
    probe.once('error', () => end(null));
  });
}

/** Whether hooks/serve.sh runs a server at the socket, even one that is just starting or ending. */
function isLocked(socket: string): boolean {
  let file: number;
  try {
    // The directory belongs to another user, who may have put anything there.
    file = openSync(join(dirname(socket), 'lock'), constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    return !tryLock(file);
  } finally {
    closeSync(file);
  }
}

/** Ends the owner's server and waits until its lock is free: until then, the next server would exit at once. */
async function endServer(socket: string, { uid }: Ownership): Promise<string | null> {
  const deadline = performance.now() + ENDS_WITHIN_MS;
  const asked = new Set<number>();
  for (;;) {
    const server = await serverAt(socket);
    if (server !== null && server.uid !== uid)
      return `the server at ${socket} is uid ${server.uid}'s, not ${uid}'s: end it by hand`;
    if (server !== null && !asked.has(server.pid) && startTicksOf(server.pid) !== null) {
      process.kill(server.pid, 'SIGTERM');
      asked.add(server.pid);
    }
    const left = [...asked].filter((pid) => startTicksOf(pid) !== null);
    if (server === null && left.length === 0 && !isLocked(socket)) return null;
    if (performance.now() > deadline)
      return `the server (${left.length > 0 ? `process ${left.join(', ')}` : `lock ${dirname(socket)}/lock`}) does not end: end it by hand`;
    await sleep(50);
  }
}

/** Whether a server still runs from the previous version, as after an interrupted upgrade. */
function isOfOldVersion(prefix: string): boolean {
  const main = programPath('cli/main', '/');
  const current = join(prefix, currentVersion(prefix) ?? '');
  const isOld = (word: string): boolean =>
    word.startsWith(`${prefix}/`) && word.endsWith(main) && !word.startsWith(`${current}/`);
  return [...otherCommandLines()].some((words) => words.includes('serve') && words.some(isOld));
}

/** Whether the server that systemd or cron starts here is running. */
function isUp({ units }: SystemPlaces, socket: string): boolean {
  return units === null ? isLocked(socket) : systemctl(['is-active', '--quiet', `${SERVER.name}.service`], '') === null;
}

/**
 * Makes `qmemacct serve` run on this host, as the user of the accounting DB: by systemd, else by cron. The last step
 * checks that the server answers. `renewed`: the program has changed.
 */
export function serveSteps(host: Host, renewed: boolean): Step[] {
  const { places, settings, prefix } = host;
  const { serve_socket: socket } = settings;
  requirePlain('serve_socket =', socket);
  // The unit names the directory where the server may write.
  if (places.units !== null && !isPostgresUrl(settings.accounting)) requirePlain('accounting =', settings.accounting);
  const identity = delivererOwner(settings);
  const isCurrent = !renewed && !isOfOldVersion(prefix);
  const steps = setUpSteps(SERVER, host, {
    runs: isCurrent && isAttended(places) && isUp(places, socket),
    now: {
      says: 'start the server',
      apply: async () => (await endServer(socket, identity)) ?? startNow(prefix, socket, identity),
    },
  });
  if (steps.length === 0) return [];
  const directory = dirname(socket);
  const made =
    places.units === null && !existsSync(directory)
      ? directorySteps({ path: directory, mode: 0o755, ...identity })
      : [];
  return [...made, ...steps, { says: `ask the server at ${socket}`, apply: () => waitForAnswer(settings) }];
}

/** Ends the server that an installation set up, and removes its files except changed ones. */
export function removeServeSteps(places: SystemPlaces, settings: Settings): Step[] {
  return removalSteps(SERVER, places, () => endServer(settings.serve_socket, delivererOwner(settings)));
}
