import type { Schema } from '../../base/shape';
import type { Settings } from '../../record/settings';
import type { AccountingService, Requester } from '../accounting/accounting-thread';
import type { AnswerCache } from '../http/answer-cache';
import type { Body } from '../http/body';
import type { LiveState } from '../live/live-state';
import type { Parameters, Values } from './parameter';
import type { Access } from '../access/access';

/** What the routes answer from. */
export interface Site {
  readonly settings: Pick<Settings, 'grid_engine' | 'poll_interval' | 'rules_file'>;
  readonly live: Pick<LiveState, 'current'>;
  /** Somebody asks for the jobs that wait. */
  readonly wantPending: () => void;
  readonly accounting: AccountingService;
  readonly cache: AnswerCache;
  readonly version: string;
  /** ms since the epoch. */
  readonly startedAt: number;
}

/** A request, checked. */
export interface RouteRequest<P extends Parameters> {
  readonly values: Values<P>;
  readonly access: Access;
  /** ms since the epoch. */
  readonly now: number;
  readonly site: Site;
  readonly requester: Requester;
}

/** A good answer (status 200). */
export interface RouteAnswer {
  readonly body: Body;
  /** Whole seconds. */
  readonly maxAge: number;
}

/** One kind of request: the server and its description are made of the same table. */
interface RouteOf<P extends Parameters> {
  /** `/v1/job/{job}`: parts in braces are parameters. */
  readonly path: string;
  readonly description: string;
  readonly parameters: P;
  /** Media type of the answer, and its schema where it is JSON. */
  readonly type: string;
  readonly schema: Schema | null;
  /** Problems beside those that every request can have (400, 401, 405, 421). */
  readonly problems: readonly number[];
  /** Throws or rejects with HttpProblem. */
  readonly answer: (asked: RouteRequest<P>) => RouteAnswer | Promise<RouteAnswer>;
}

export type Route = RouteOf<Parameters>;

/** A route as the table holds it: its answer is called with what its own parameters gave. */
export function route<P extends Parameters>(definition: RouteOf<P>): Route {
  return definition as unknown as Route;
}
