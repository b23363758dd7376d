import { resolve } from 'node:path';
import { isLoopback } from '../../base/loopback';
import type { Command } from 'commander';
import { LimitedLog } from '../../base/log-limit';
import { liveCell } from '../../live/poll-tools';
import { loadSettings, type Settings } from '../../record/settings';
import { FollowedAccess } from '../../server/access/access-settings';
import { AccountingThread } from '../../server/accounting/accounting-thread';
import { systemdSockets, listenAddressText, type ListenAddress } from '../../server/http/listen';
import { LiveUpdates } from '../../server/live/live-updates';
import { settleInbox } from '../../server/accounting/settle-inbox';
import { startServer, type RunningServer } from '../../server/start-server';
import { commandAction, EXIT, usageError, type CommandContext, type GlobalOptions } from '../command';
import { startThread } from '../../base/thread';
import type { FollowSettings } from '../import/follow-worker';
import { sendJobMails } from '../job-mails/send-job-mails';
import { warn } from '../output';
import type { Terminal } from '../terminal';

interface ServeOptions extends GlobalOptions {
  readonly address?: string;
  readonly port?: string;
  readonly socket?: string;
}

/** `qmemacct serve` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--address <address>', 'listen at this address, not at serve_address (127.0.0.1)')
    .option('--port <port>', 'listen at this port, not at serve_port (8080); 0: no HTTP, only the socket')
    .option('--socket <path>', 'make the unix socket here, not at serve_socket; "none": no socket')
    .action(commandAction<ServeOptions>(context, (options, terminal) => serve(options, context.version, terminal)));
}

const MOST_PORT = 65535;
const ACCESS_LOOK_MS = 1000;

function portOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(port <= MOST_PORT)) throw usageError(`--port: "${text}" is not a port; write 0 to ${MOST_PORT}`);
  return port;
}

/** Where to listen: by the options, else the settings; sockets from systemd replace ours unless --socket names one. */
function addressesOf(
  options: ServeOptions,
  settings: Settings,
  handed: readonly ListenAddress[],
): readonly ListenAddress[] {
  const port = portOf(options.port, settings.serve_port);
  const address = options.address ?? settings.serve_address;
  const socket = options.socket ?? settings.serve_socket;
  const tcp: readonly ListenAddress[] = port === 0 ? [] : [{ kind: 'tcp', address, port }];
  const own: readonly ListenAddress[] = socket === 'none' ? [] : [{ kind: 'socket', path: resolve(socket) }];
  const addresses = [...tcp, ...(handed.length > 0 && options.socket === undefined ? handed : own)];
  if (addresses.length === 0) throw usageError('neither a port nor a socket to listen on; give one of them');
  return addresses;
}

/** Warns if anyone on the network can see all jobs. */
function warnOfOpenness(addresses: readonly ListenAddress[], settings: Settings, terminal: Terminal): void {
  const open = addresses.find((one) => one.kind === 'tcp' && !isLoopback(one.address));
  if (open !== undefined && settings.serve_names === 'all' && settings.visibility === 'all')
    warn(
      terminal,
      `${listenAddressText(open)}: anyone who can reach it sees all jobs; set visibility to "project" or "own"`,
    );
}

function ended(): Promise<void> {
  return new Promise((resolve) => {
    // Not `once`: process-groups.ts ends this process at a signal that has no other listener.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
}

/** `serve`: answers until SIGTERM, SIGINT or SIGHUP; resolves to the exit status. Rejects with UserError. */
export async function serve(options: ServeOptions, version: string, terminal: Terminal): Promise<number> {
  const settings = loadSettings(options.config);
  const limited = new LimitedLog((line) => warn(terminal, line));
  const log = (line: string): void => limited.say(line);
  const addresses = addressesOf(options, settings, systemdSockets(terminal.env, process.pid));
  const end = ended();
  const { accounting: path, accounting_credentials: credentials } = settings;
  // A thread of its own: submissions wait for advice, and must not wait behind a web page's long query.
  const advice = new AccountingThread({ path, credentials, log });
  const accounting = new AccountingThread({ path, credentials, log, helps: advice });
  const updates = new LiveUpdates({ settings, cell: liveCell(settings, terminal.env), accounting, log });
  const inbox = settleInbox(settings, log);
  const access = new FollowedAccess(options.config, settings, log);
  const looks = setInterval(() => access.look(), ACCESS_LOOK_MS);
  let server: RunningServer;
  try {
    const { live, wantPending } = updates;
    server = await startServer({
      settings,
      access: access.current,
      addresses,
      live,
      wantPending,
      inbox: inbox.counts,
      accounting,
      advice,
      version,
      log,
    });
  } catch (error) {
    clearInterval(looks);
    await Promise.all([updates.stop(), accounting.stop(), advice.stop(), inbox.stop()]);
    throw error;
  }
  // Imports Grid Engine's accounting lines seconds after they are written; `log` says where that is impossible.
  const follow: FollowSettings = { config: options.config, env: { ...terminal.env } };
  const accounts = startThread('cli/import/follow-worker', follow, (reason) =>
    log(`Grid Engine's accounting is no longer followed: ${reason}`),
  );
  accounts.worker.on('message', log);
  const mails = sendJobMails(settings, { config: options.config }, updates, log);
  warnOfOpenness(addresses, settings, terminal);
  warn(terminal, `serves ${server.addresses.map(listenAddressText).join(' and ')}`);
  await end;
  clearInterval(looks);
  await Promise.all([server.stop(), updates.stop(), inbox.stop(), accounts.stop(), mails.stop()]);
  limited.flush();
  return EXIT.found;
}
