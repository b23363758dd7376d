import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { JSON_TYPE, makeBody } from '../http/body';
import { HttpProblem } from '../http/http-problem';
import type { Live } from '../live/live-state';
import type { Parameters } from './parameter';
import { redactSnapshot, redactView } from '../access/redaction';
import type { Answered, Asked } from './route';
import { sightKey } from '../access/access';

/** Whole seconds until qmaster is asked again, 1 at least. */
export function untilNextPoll(snapshot: Snapshot, now: number, intervalSeconds: number): number {
  const tried = Math.max(snapshot.hosts.triedAt ?? 0, snapshot.running.triedAt ?? 0);
  const left = Math.ceil(intervalSeconds - (now - tried) / 1000);
  return Math.min(Math.max(left, 1), Math.ceil(intervalSeconds));
}

const hasData = ({ hosts, running }: Snapshot): boolean => hosts.at !== null || running.at !== null;

/** Throws HttpProblem where nothing is known of the cluster yet. */
function requireLive({ site }: Pick<Asked<Parameters>, 'site'>): Live {
  const live = site.live.current();
  if (live !== null && hasData(live.snapshot)) return live;
  const reason = live?.snapshot.hosts.problem ?? live?.snapshot.running.problem ?? 'qmaster has not answered yet';
  throw new HttpProblem(503, `nothing is known of the cluster yet: ${reason}`, { 'Retry-After': '5' });
}

type Question = Pick<Asked<Parameters>, 'site' | 'sight' | 'now'>;

function answered(asked: Question, live: Live, key: string, make: () => string): Answered {
  const { site, sight, now } = asked;
  const body = site.cache.get(live, `${key} ${sightKey(sight)}`, () => makeBody(JSON_TYPE, make()));
  return { body, maxAge: untilNextPoll(live.snapshot, now, site.settings.poll_interval) };
}

/** An answer, as JSON, made of what qmaster said, once per snapshot and kind of caller. Throws HttpProblem before the first. */
export function ofSnapshot(asked: Question, key: string, make: (snapshot: Snapshot) => string): Answered {
  const live = requireLive(asked);
  return answered(asked, live, key, () => make(redactSnapshot(live.snapshot, asked.sight)));
}

/** The same of the view of the cluster. */
export function ofView(asked: Question, key: string, make: (view: ClusterView) => string): Answered {
  const live = requireLive(asked);
  const { view } = live;
  if (view === null)
    throw new HttpProblem(503, 'the state of the cluster could not be put together; the server log says why');
  return answered(asked, live, key, () => make(redactView(view, asked.sight)));
}
