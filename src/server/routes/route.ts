import type { Schema } from '../../base/shape';
import type { Settings } from '../../record/settings';
import type { InboxCounts } from '../../export/prometheus/server-metrics';
import type { AccountingService, Requester } from '../accounting/accounting-thread';
import type { ClassPredictions } from '../accounting/class-predictions';
import type { MetricsAnswers } from '../accounting/metrics-answers';
import type { Sessions } from '../access/sessions';
import type { AnswerCache } from '../http/answer-cache';
import type { RenderTurns } from '../http/render-turns';
import { JSON_TYPE } from '../http/body';
import type { Reply } from '../http/send';
import type { LiveState } from '../live/live-state';
import type { Parameters, Values } from './parameter';
import type { Access } from '../access/access';
import type { UserNames } from '../access/name-service';
import type { SignedIn } from '../access/signed-in';
import type { Tokens } from '../access/tokens';

/** What the routes answer from. */
export interface Site {
  readonly settings: Pick<
    Settings,
    | 'grid_engine'
    | 'poll_interval'
    | 'metrics_jobs'
    | 'report_dir'
    | 'rules_file'
    | 'advise_submissions'
    | 'keep_records_days'
  >;
  readonly live: Pick<LiveState, 'current'>;
  /** To be called when somebody asks for pending jobs; resolves when qmaster has answered, or after some seconds. */
  readonly wantPending: () => Promise<void>;
  readonly accounting: AccountingService;
  readonly metrics: MetricsAnswers;
  readonly predictions: ClassPredictions;
  /** null: there is no inbox here to be emptied. */
  readonly inbox: () => InboxCounts | null;
  readonly cache: AnswerCache;
  /** For answers that are large and not kept. */
  readonly turns: RenderTurns;
  readonly sessions: Sessions;
  readonly tokens: Pick<Tokens, 'has'>;
  readonly names: UserNames;
  /** Where its pages are found: "http://host:8080"; null: it serves no HTTP. */
  readonly url: () => string | null;
  readonly version: string;
  /** ms since the epoch. */
  readonly startedAt: number;
}

/** A checked request. */
export interface RouteRequest<P extends Parameters> {
  readonly values: Values<P>;
  /** The parameters of its query, as written; without a form's empty ones. */
  readonly query: { readonly [Name in keyof P]?: string };
  /** What a form was filled in with; empty unless the route takes one. */
  readonly form: URLSearchParams;
  readonly access: Access;
  /** The user at the other end of the unix socket; null: it came over HTTP. */
  readonly peer: number | null;
  /** null: not signed in with a session's cookie. */
  readonly signedIn: SignedIn | null;
  /** ms since the epoch. */
  readonly now: number;
  readonly site: Site;
  readonly requester: Requester;
}

/** A successful answer: status 200, unless it leads to another page (303). */
export interface RouteAnswer extends Omit<Reply, 'status'> {
  readonly status?: 303;
}

/** One kind of request: the server and its description are made of the same table. */
interface RouteOf<P extends Parameters> {
  /** `/v1/job/{job}`: parts in braces are parameters. */
  readonly path: string;
  /** Takes a form; left out: answers GET. */
  readonly method?: 'POST';
  readonly description: string;
  readonly parameters: P;
  /** Its query comes from a form: an empty value counts as left out. */
  readonly isForm?: true;
  /** Media type of the answer (left out: JSON), and its schema where it is JSON. */
  readonly type: string;
  readonly schema: Schema | null;
  /** Problems beside those that every request can have (400, 401, 405, 421). */
  readonly problems: readonly number[];
  /** Throws or rejects with HttpProblem. */
  readonly answer: (asked: RouteRequest<P>) => RouteAnswer | Promise<RouteAnswer>;
}

export type Route = RouteOf<Parameters>;

const USUAL = { type: JSON_TYPE, schema: null, problems: [] } as const;

type Definition<P extends Parameters> = Omit<RouteOf<P>, keyof typeof USUAL> &
  Partial<Pick<RouteOf<P>, keyof typeof USUAL>>;

/** A route in the form that the table holds; `answer` is called with the values of its own parameters. */
export function route<P extends Parameters>(definition: Definition<P>): Route {
  return { ...USUAL, ...definition } as unknown as Route;
}
