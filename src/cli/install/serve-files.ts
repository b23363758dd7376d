import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { check } from '../../base/shape';
import { peerCredentials, type PeerCredentials } from '../../native/peer-credentials';
import { isPostgresUrl } from '../../record/postgres-url';
import type { Settings } from '../../record/settings';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import { ClientError, newServerClient } from '../../server/client/server-client';
import { healthShape } from '../../server/routes/health';
import { usageError } from '../command';
import { directorySteps } from './directories';
import { leaveSteps, removeSteps, writeSteps } from './kept-files';
import { hookDirectory, type SystemPlaces } from './places';
import type { Step } from './steps';
import { filesOf, fromTemplate, startUnits, stopUnits, unattended, type SystemFiles } from './system-files';

const SERVICE = 'qmemacct-serve.service';
const SOCKET = 'qmemacct-serve.socket';
const UNITS = [SOCKET, SERVICE] as const;
/** cron passes over names with a dot. */
const CRON = 'qmemacct-serve';
const ANSWERS_WITHIN_MS = 30_000;
const ENDS_WITHIN_MS = 20_000;
export const WITHOUT_SERVER = 'users see only what they may read themselves until "qmemacct serve" runs';

/** A cron table and a unit take no other characters as they are. */
const PLAIN_PATH = /^[\w./@+-]+$/;

interface Identity {
  readonly uid: number;
  readonly gid: number;
}

const identityOf = (user: string): Identity => delivererIdentity(user) ?? { uid: 0, gid: 0 };

/** Whether something on this host starts the server. */
export function startsServer(places: SystemPlaces): boolean {
  return filesOf(places, UNITS, CRON).length > 0;
}

/** What is wrong with the server that answers at the socket, '' where nothing is; null: none answers. */
export async function answering(socket: string): Promise<string | null> {
  const client = newServerClient(socket);
  try {
    const { status, json } = await client.get('/v1/health');
    const health = check(healthShape, json, 'the answer');
    if (status !== 200 || !health.ok) return `something else answers at ${socket}`;
    const { accounting, live } = health.value;
    return [accounting.problem, ...live.problems].find((problem) => problem !== null) ?? '';
  } catch (error) {
    if (error instanceof ClientError) return null;
    throw error;
  } finally {
    client.close();
  }
}

/** Asks the server until it answers, and qmaster has answered it; resolves to what is wrong with it, or null. */
async function testQuestion({ serve_socket: socket }: Settings): Promise<string | null> {
  const deadline = performance.now() + ANSWERS_WITHIN_MS;
  for (;;) {
    const answer = await answering(socket);
    if (answer === '') return null;
    if (performance.now() > deadline)
      return answer === null
        ? `no server answers at ${socket} after ${ANSWERS_WITHIN_MS / 1000} s: the system log may show why; ${WITHOUT_SERVER}`
        : `the server answers, but: ${answer}`;
    await sleep(250);
  }
}

/** As cron does every minute from now on. */
function startNow(prefix: string, { uid, gid }: Identity): string | null {
  const script = `/bin/sh -p ${join(hookDirectory(prefix), 'serve.sh')} 2>&1 | logger -t qmemacct`;
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

/** The process that made the socket; null: none answers there. */
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

/** Ends a server of that user. */
async function endServer(socket: string, { uid }: Identity): Promise<string | null> {
  const server = await serverAt(socket);
  if (server === null) return null;
  if (server.uid !== uid) return `the server at ${socket} is uid ${server.uid}'s, not ${uid}'s: end it by hand`;
  process.kill(server.pid, 'SIGTERM');
  const deadline = performance.now() + ENDS_WITHIN_MS;
  while ((await serverAt(socket))?.pid === server.pid) {
    if (performance.now() > deadline) return `the server (process ${server.pid}) does not end: end it by hand`;
    await sleep(50);
  }
  return null;
}

function textOf(files: SystemFiles, settings: Settings, name: string): string {
  const { serve_socket: socket, accounting, deliver_as: user } = settings;
  return fromTemplate(files, name)
    .replaceAll('@USER@', user === '' ? 'nobody' : user)
    .replaceAll('@SOCKET@', socket)
    .replaceAll('@SOCKET_DIRECTORY@', dirname(socket))
    .replaceAll('@WRITABLE@', isPostgresUrl(accounting) ? '' : `-${dirname(accounting)}`);
}

function unitSteps(units: string, files: SystemFiles, settings: Settings, renewed: boolean): Step[] {
  const paths = UNITS.map((name) => join(units, name));
  const written = UNITS.flatMap((name) => writeSteps(join(units, name), textOf(files, settings, name)));
  if (written.length === 0 && !renewed) return leaveSteps(paths);
  return [
    ...leaveSteps(paths),
    ...written,
    {
      says: `systemctl enable ${UNITS.join(' ')}, and start them anew`,
      apply: () => startUnits(UNITS, WITHOUT_SERVER),
    },
  ];
}

function cronSteps(cron: string | null, files: SystemFiles, settings: Settings, renewed: boolean): Step[] {
  const { serve_socket: socket, deliver_as: user } = settings;
  const path = cron === null ? null : join(cron, CRON);
  const left = path === null ? [] : leaveSteps([path]);
  const written = path === null ? [] : writeSteps(path, textOf(files, settings, `${CRON}.cron`));
  if (path !== null && written.length === 0 && !renewed) return left;
  const identity = identityOf(user);
  const directory = dirname(socket);
  return [
    ...(existsSync(directory) ? [] : directorySteps({ path: directory, mode: 0o755, ...identity })),
    ...left,
    ...written,
    {
      says: 'start the server',
      apply: async () => (await endServer(socket, identity)) ?? startNow(files.prefix, identity),
    },
    ...(path === null ? [unattended('hooks/serve.sh runs after each boot')] : []),
  ];
}

/**
 * What makes `qmemacct serve` run on this host, as the user of the accounting DB: by systemd, else by cron; it is asked
 * a question in the end. `renewed`: the program has changed.
 */
export function serveSteps(files: SystemFiles, settings: Settings, renewed: boolean): Step[] {
  const { units, cron } = files.places;
  const { serve_socket: socket } = settings;
  if (!PLAIN_PATH.test(socket))
    throw usageError(`serve_socket = "${socket}": only letters, digits and ./@+-_ with install --serve`);
  const steps = units === null ? cronSteps(cron, files, settings, renewed) : unitSteps(units, files, settings, renewed);
  if (steps.length === 0) return [];
  return [...steps, { says: `ask the server at ${socket}`, apply: () => testQuestion(settings) }];
}

/** Ends the server that an installation has set up, and takes its files away; those that were changed stay. */
export function removeServeSteps(places: SystemPlaces, { serve_socket: socket, deliver_as: user }: Settings): Step[] {
  const files = filesOf(places, UNITS, CRON);
  if (files.length === 0) return [];
  const says = 'end the server';
  // Else cron would start it again.
  if (places.units === null) return [...removeSteps(files), { says, apply: () => endServer(socket, identityOf(user)) }];
  return [{ says, apply: () => stopUnits(...UNITS) }, ...removeSteps(files)];
}
