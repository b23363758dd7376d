import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { JSON_TYPE, makeBody } from '../http/body';
import { HttpProblem } from '../http/http-problem';
import type { LiveCluster } from '../live/live-state';
import type { Parameters } from './parameter';
import { redactSnapshot, redactView } from '../access/redaction';
import type { RouteAnswer, RouteRequest } from './route';
import { accessKey } from '../access/access';

/** Whole seconds until qmaster is asked again, 1 at least. */
export function untilNextPoll(snapshot: Snapshot, now: number, intervalSeconds: number): number {
  const tried = Math.max(snapshot.hosts.triedAt ?? 0, snapshot.running.triedAt ?? 0);
  const left = Math.ceil(intervalSeconds - (now - tried) / 1000);
  return Math.min(Math.max(left, 1), Math.ceil(intervalSeconds));
}

const hasData = ({ hosts, running }: Snapshot): boolean => hosts.at !== null || running.at !== null;

/** Throws HttpProblem where nothing is known of the cluster yet. */
function requireLive({ site }: Pick<RouteRequest<Parameters>, 'site'>): LiveCluster {
  const live = site.live.current();
  if (live !== null && hasData(live.snapshot)) return live;
  const reason = live?.snapshot.hosts.problem ?? live?.snapshot.running.problem ?? 'qmaster has not answered yet';
  throw new HttpProblem(503, `nothing is known of the cluster yet: ${reason}`, { 'Retry-After': '5' });
}

type LiveRequest = Pick<RouteRequest<Parameters>, 'site' | 'access' | 'now' | 'requester'>;

/** Cache key of a question, to which what the caller may see is added, and media type of its answers. */
interface AnswerKind {
  readonly key: string;
  readonly type: string;
}

async function answered(
  asked: LiveRequest,
  live: LiveCluster,
  kind: AnswerKind,
  make: () => string,
): Promise<RouteAnswer> {
  const { site, access, now, requester } = asked;
  const key = `${kind.key} ${accessKey(access)}`;
  const body = await site.cache.get(live, key, requester, () => makeBody(kind.type, make()));
  return { body, maxAge: untilNextPoll(live.snapshot, now, site.settings.poll_interval) };
}

/**
 * A JSON answer made from the snapshot, once for each kind of caller. Rejects with HttpProblem before the first
 * snapshot.
 */
export async function answerFromSnapshot(
  asked: LiveRequest,
  key: string,
  make: (snapshot: Snapshot) => string,
): Promise<RouteAnswer> {
  const live = requireLive(asked);
  return answered(asked, live, { key, type: JSON_TYPE }, () =>
    make(redactSnapshot(live.snapshot, live.view, asked.access)),
  );
}

/** The unredacted view of the cluster. Throws HttpProblem if there is none yet. */
export function requireView({ site }: Pick<LiveRequest, 'site'>): {
  readonly live: LiveCluster;
  readonly view: ClusterView;
} {
  const live = requireLive({ site });
  const { view } = live;
  if (view === null)
    throw new HttpProblem(503, 'the state of the cluster could not be put together; the server log says why');
  return { live, view };
}

/** Like answerFromSnapshot, made from the view of the cluster. */
export async function answerFromView(
  asked: LiveRequest,
  key: string,
  make: (view: ClusterView) => string,
): Promise<RouteAnswer> {
  const { live, view } = requireView(asked);
  return answered(asked, live, { key, type: JSON_TYPE }, () => make(redactView(view, asked.access)));
}

/** Like answerFromSnapshot, of any media type, made from the snapshot and the view. */
export async function answerFromLive(
  asked: LiveRequest,
  kind: AnswerKind,
  make: (live: { readonly snapshot: Snapshot; readonly view: ClusterView }) => string,
): Promise<RouteAnswer> {
  const { live, view } = requireView(asked);
  const { access } = asked;
  return answered(asked, live, kind, () =>
    make({ snapshot: redactSnapshot(live.snapshot, view, access), view: redactView(view, access) }),
  );
}
