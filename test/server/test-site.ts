import { request as httpRequest, type Agent, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import type { Snapshot } from '../../src/live/snapshot';
import { viewCluster } from '../../src/live/view';
import type { JobRecord } from '../../src/record/record';
import { DEFAULT_SETTINGS, type Settings } from '../../src/record/settings';
import { LiveState } from '../../src/server/live/live-state';
import { AccountingThread } from '../../src/server/accounting/accounting-thread';
import { startServer, type ServerOptions } from '../../src/server/start-server';
import type { UserNames } from '../../src/server/access/name-service';
import { AT, workedExample } from '../live/snapshots';
import { USUAL_RULES } from '../../src/record/request-rules';
import { temporaryDirectory } from '../support/temporary-directory';
import { PATIENCE_MS } from '../support/until';

export const NOW = AT + 5000;

/** alice is uid 1001 in group 50, named staff; carol is uid 1003, in no such group. */
export const testNames: UserNames = {
  user: (uid) => {
    const names = new Map([
      [1001, { name: 'alice', gids: [50] }],
      [1003, { name: 'carol', gids: [1003] }],
    ]);
    return Promise.resolve(names.get(uid) ?? null);
  },
  group: (name) => Promise.resolve(name === 'staff' ? 50 : null),
};

/** A live state that shows a snapshot as of `NOW`. */
export function liveStateOf(snapshot: Snapshot | null, changes: { readonly now?: () => number } = {}): LiveState {
  const live = new LiveState({
    makeView: (given) => viewCluster(given, [], { rules: USUAL_RULES, nowMs: NOW }),
    log: () => undefined,
    overdueMs: 600_000,
    now: () => NOW,
    ...changes,
  });
  if (snapshot !== null) live.put(snapshot);
  return live;
}

export interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  readonly json: () => unknown;
}

export interface Ask {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly agent?: Agent | false;
  readonly body?: string;
}

/** Sends one request to a port or a socket. */
export function ask(where: { readonly port: number } | { readonly socketPath: string }, given: Ask): Promise<Got> {
  const { path, method = 'GET', headers = {}, agent = false, body } = given;
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ host: '127.0.0.1', ...where, path, method, headers, agent }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => {
        const bytes = Buffer.concat(pieces);
        const text = bytes.toString('utf8');
        const json = (): unknown => JSON.parse(text) as unknown;
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes, text, json });
      });
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

export interface TestSite {
  readonly port: number;
  readonly socket: string;
  readonly directory: string;
  readonly lines: readonly string[];
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Got>;
  readonly stop: () => Promise<void>;
}

export interface TestSiteOptions extends Partial<Omit<ServerOptions, 'settings'>> {
  readonly settings?: Partial<Settings>;
  readonly snapshot?: Snapshot | null;
  readonly records?: readonly JobRecord[];
}

/** A server on its own port and socket; it shows the worked example unless another state is given. */
export async function startTestSite(t: Pick<TestContext, 'after'>, options: TestSiteOptions = {}): Promise<TestSite> {
  const { snapshot = workedExample(), records, settings = {}, ...rest } = options;
  const directory = temporaryDirectory(0o755);
  const socket = join(directory, 'serve.sock');
  const accounting = join(directory, 'accounting.db');
  if (records !== undefined) {
    const store = openSqliteStore(accounting, 0o600);
    await store.merge(records);
    await store.close();
  }
  const lines: string[] = [];
  const path = settings.accounting ?? accounting;
  const reading = { path, patienceMs: PATIENCE_MS, longestMs: PATIENCE_MS };
  const server = await startServer({
    settings: { ...DEFAULT_SETTINGS, accounting, ...settings },
    addresses: [
      { kind: 'tcp', address: '127.0.0.1', port: 0 },
      { kind: 'socket', path: socket },
    ],
    live: liveStateOf(snapshot),
    accounting: new AccountingThread(reading),
    advice: new AccountingThread(reading),
    version: '1.2.3',
    log: (line) => void lines.push(line),
    names: testNames,
    now: () => NOW,
    ...rest,
  });
  t.after(() => server.stop());
  const [first] = server.addresses;
  const port = first?.kind === 'tcp' ? first.port : 0;
  return {
    port,
    socket,
    directory,
    lines,
    get: (path, headers = {}) => ask({ port }, { path, headers }),
    stop: server.stop,
  };
}

/** A site for all tests of a file or suite: started by the first of them that needs it, stopped after the last. */
export function sharedSite(options: TestSiteOptions = {}): () => Promise<TestSite> {
  let site: Promise<TestSite> | null = null;
  after(async () => (await site)?.stop());
  return () => (site ??= startTestSite({ after: () => undefined }, options));
}
