import { boolean, integer, list, map, number, object, string, type Schema, type Shape } from '../../base/shape';
import { qhostAnswer, qmemAnswerText, qstatAnswer, type QmemAnswer } from '../../live/qmemtools';
import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { escapeJson } from '../../report/format/escape';
import { JSON_TYPE, makeBody } from '../http/body';
import { untilNextPoll } from './live-answer';
import type { Parameters } from './parameter';
import { redactSnapshot, redactView } from '../access/redaction';
import { route, type RouteAnswer, type RouteRequest, type Route } from './route';
import { accessKey } from '../access/access';

const EMPTY = new Map<string, never>();

/** Makes an answer from the snapshot and the view. */
type Make = (snapshot: Snapshot, view: ClusterView, now: number) => QmemAnswer;

/**
 * QmemTools' answers: always status 200 and at once, whether qmaster answers or not. Problems stand in `message`, with
 * the age of the data, so an answer with a problem is made anew each second.
 */
async function answer(name: 'qhost' | 'qstat', make: Make, asked: RouteRequest<Parameters>): Promise<RouteAnswer> {
  const { site, access, now, requester } = asked;
  const live = site.live.current();
  const { hosts, running, details } = live?.snapshot ?? {};
  const problem = hosts?.problem ?? running?.problem ?? details?.problem ?? null;
  const given = (): QmemAnswer => {
    if (live?.view) return make(redactSnapshot(live.snapshot, live.view, access), redactView(live.view, access), now);
    const reason = problem ?? 'nothing has been asked of qmaster yet, try again in some seconds';
    return { success: false, message: `No data for ${name}: ${reason}`, data: EMPTY };
  };
  const body = (): ReturnType<typeof makeBody> => makeBody(JSON_TYPE, escapeJson(qmemAnswerText(given())));
  if (live === null) return { body: body(), maxAge: 1 };
  const second = problem === null ? '' : Math.floor(now / 1000);
  return {
    body: await site.cache.get(live, `${name} ${second} ${accessKey(access)}`, requester, body),
    maxAge: problem === null ? untilNextPoll(live.snapshot, now, site.settings.poll_interval) : 1,
  };
}

const envelope = (data: Shape<unknown>): Schema => object({ success: boolean, message: string, data }).schema;

const qhostRoute = route({
  path: '/qhost',
  description: 'the hosts and their jobs, as QmemTools gives them',
  parameters: {},
  schema: envelope(
    map(
      object({
        num_proc: string,
        mem_total: string,
        jobs: map(
          object({
            jobcount: integer(),
            master: boolean,
            taskid: list(string),
            jobname: string,
            owner: string,
          }),
        ),
      }),
    ),
  ),
  answer: (asked) => answer('qhost', qhostAnswer, asked),
});

const qstatRoute = route({
  path: '/qstat',
  description: 'the users, their jobs and the memory of these, as QmemTools gives them',
  parameters: {},
  schema: envelope(
    map(
      object({
        uid: string,
        jobs: map(
          object({
            requested_h_vmem_strval: string,
            requested_h_vmem_dblval: number(),
            hostname: map(map(string)),
          }),
        ),
      }),
    ),
  ),
  answer: (asked) => answer('qstat', qstatAnswer, asked),
});

export const QMEMTOOLS_ROUTES: readonly Route[] = [qhostRoute, qstatRoute];
