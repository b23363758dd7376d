import type { Socket } from 'node:net';
import { logChanges } from '../base/log';
import type { Settings } from '../record/settings';
import type { InboxCounts } from '../export/prometheus/server-metrics';
import type { AccountingService } from './accounting/accounting-thread';
import { newClassPredictions } from './accounting/class-predictions';
import { newMetricsAnswers } from './accounting/metrics-answers';
import { AnswerCache } from './http/answer-cache';
import { RenderTurns } from './http/render-turns';
import type { AccessSettings } from './access/access-settings';
import { accessOf, callerKey, countedUid } from './access/caller';
import { Sessions } from './access/sessions';
import { resolveSession } from './access/signed-in';
import { mostConnections } from './http/connection-limit';
import { dispatcher } from './http/dispatch';
import { HttpProblem } from './http/http-problem';
import { createHttpServer, type Answer } from './http/server';
import type { ListenAddress } from './http/listen';
import { Listening } from './http/listening';
import type { LiveState } from './live/live-state';
import { hostHeaderCheck } from './http/host-header';
import { newProjectsOf } from './access/projects';
import type { Site } from './routes/route';
import { ROUTES } from './routes/routes';
import { PAGES } from './web/pages';
import { Tokens } from './access/tokens';
import { newUserNames, type UserNames } from './access/name-service';

export interface ServerOptions {
  readonly settings: Site['settings'] &
    AccessSettings &
    Pick<Settings, 'metrics_job_names' | 'serve_hosts' | 'serve_url'>;
  readonly addresses: readonly ListenAddress[];
  readonly live: Pick<LiveState, 'current'>;
  /** What callers may see, asked for at each request; left out: as `settings` say. */
  readonly access?: () => AccessSettings;
  /** Called at each request for pending jobs. */
  readonly wantPending?: () => Promise<void>;
  /** Counts of what was taken from PostgreSQL's inbox; null: there is no inbox. */
  readonly inbox?: () => InboxCounts | null;
  readonly accounting: AccountingService;
  /** The same DB, for advice at submission: a submission does not wait behind a page's questions. */
  readonly advice: AccountingService;
  readonly version: string;
  /** One line for each problem. */
  readonly log: (line: string) => void;
  readonly names?: UserNames;
  readonly now?: () => number;
  /** ms, monotonic. */
  readonly clock?: () => number;
}

export interface RunningServer {
  /** Where it listens, with the ports that were chosen. */
  readonly addresses: readonly ListenAddress[];
  /** Takes no more requests, lets those under way end (5 s at most), then closes. */
  readonly stop: () => Promise<void>;
}

const PROBE_MS = 30_000;

async function peerUid(): Promise<(socket: Socket) => number | null> {
  const { peerCredentials } = await import('../native/peer-credentials.js');
  const known = new WeakMap<Socket, number | null>();
  return (socket) => {
    const found = known.get(socket);
    if (found !== undefined) return found;
    const uid = peerCredentials(socket)?.uid ?? null;
    known.set(socket, uid);
    return uid;
  };
}

/** Starts to answer at the given addresses (Listening.begin). Rejects with UserError; then it listens nowhere. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { settings, live, log, version, accounting, now = Date.now } = options;
  const { access: accessSettings = () => settings } = options;
  const tokens = new Tokens(() => accessSettings().serve_tokens);
  const names = options.names ?? newUserNames();
  const sessions = new Sessions(names, options.clock);
  const rules = { tokens, names, sessions, projectsOf: newProjectsOf(accounting, now) };
  const { wantPending = () => Promise.resolve(), inbox = () => null } = options;
  const listening = new Listening(options.addresses, log);
  const turns = new RenderTurns();
  const site = {
    settings,
    live,
    wantPending,
    accounting,
    metrics: newMetricsAnswers(accounting, settings.metrics_job_names, now),
    predictions: newClassPredictions(options.advice, now),
    inbox,
    cache: new AnswerCache(turns),
    turns,
    sessions,
    tokens,
    names,
    url: () => listening.url(settings.serve_url),
    version,
    startedAt: now(),
  };
  const answerOf = dispatcher([...ROUTES, ...PAGES]);
  const answer: Answer = async (request, from, gone) => {
    const { caller, signedIn } = await resolveSession(from, rules);
    const access = await accessOf(caller, { ...rules, settings: accessSettings() });
    const requester = { key: await callerKey(caller, names), gone };
    try {
      return await answerOf(request, { access, site, now: now(), peer: from.uid, signedIn, requester });
    } catch (error) {
      throw error instanceof HttpProblem ? error.shownTo(signedIn?.name ?? null) : error;
    }
  };

  const logAccounting = logChanges(log, 'the accounting DB can be read again');
  const logTokens = logChanges(log, 'serve_tokens can be used again');
  const check = async (): Promise<void> => {
    await accounting.probe();
    logAccounting(accounting.problem());
    logTokens(tokens.problem());
  };
  const timer = setInterval(() => void check(), PROBE_MS);
  timer.unref();

  const uidOf = await peerUid();
  const { resourceLimit, Rlimit } = await import('../native/libc.js');
  const most = mostConnections(resourceLimit(Rlimit.NOFILE).soft, options.addresses.length);
  const hosts = options.addresses.flatMap((address) => (address.kind === 'tcp' ? [address.address] : []));
  const named = settings.serve_url === '' ? [] : [new URL(settings.serve_url).host];
  const isOwnName = hostHeaderCheck([...hosts, ...settings.serve_hosts, ...named]);
  const stop = async (): Promise<void> => {
    clearInterval(timer);
    await listening.stop();
    await Promise.all([accounting.stop(), options.advice.stop()]);
  };
  try {
    await listening.begin(({ kind }) =>
      createHttpServer({
        answer,
        uidOf: kind === 'tcp' ? () => null : uidOf,
        countedUid: (uid) => countedUid(uid, names),
        mostConnections: most,
        isOwnName,
        log,
      }),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  void check();
  return { addresses: listening.addresses, stop };
}
