import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { JSON_TYPE, makeBody, makeFromPieces } from '../http/body';
import { HttpProblem } from '../http/http-problem';
import type { LiveCluster } from '../live/live-state';
import type { Parameters } from './parameter';
import { redactSnapshot, redactView } from '../access/redaction';
import type { RouteAnswer, RouteRequest } from './route';
import { accessKey, type Access } from '../access/access';

/** Whole seconds until qmaster is asked again, 1 at least. */
export function untilNextPoll(snapshot: Snapshot, now: number, intervalSeconds: number): number {
  const tried = Math.max(snapshot.hosts.triedAt ?? 0, snapshot.running.triedAt ?? 0);
  const left = Math.ceil(intervalSeconds - (now - tried) / 1000);
  return Math.min(Math.max(left, 1), Math.ceil(intervalSeconds));
}

const hasData = ({ hosts, running }: Snapshot): boolean => hosts.at !== null || running.at !== null;

type LiveRequest = Pick<RouteRequest<Parameters>, 'site' | 'access' | 'now' | 'requester'>;

/** Throws HttpProblem where nothing is known of the cluster yet. */
function requireLive({ site }: Pick<LiveRequest, 'site'>): LiveCluster {
  const live = site.live.current();
  if (live !== null && hasData(live.snapshot)) return live;
  const reason = live?.snapshot.hosts.problem ?? live?.snapshot.running.problem ?? 'qmaster has not answered yet';
  throw new HttpProblem(503, `nothing is known of the cluster yet: ${reason}`, { 'Retry-After': '5' });
}

/** What is known of the cluster, as the caller may see it. */
class Visible {
  constructor(
    readonly live: LiveCluster,
    private readonly access: Access,
  ) {}

  get snapshot(): Snapshot {
    return redactSnapshot(this.live.snapshot, this.live.view, this.access);
  }

  /** Throws HttpProblem if there is none yet. */
  get view(): ClusterView {
    const { view } = this.live;
    if (view === null)
      throw new HttpProblem(503, 'the state of the cluster could not be put together; the server log says why');
    return redactView(view, this.access);
  }
}

export const visibleOf = (asked: Pick<LiveRequest, 'site' | 'access'>): Visible =>
  new Visible(requireLive(asked), asked.access);

/**
 * An answer from the running cluster, made once for each `key` and kind of caller. Rejects with HttpProblem as long as
 * nothing is known.
 */
export async function answerFromLive(
  asked: LiveRequest,
  { key, type = JSON_TYPE }: { readonly key: string; readonly type?: string },
  make: (visible: Visible) => string | Iterable<string>,
): Promise<RouteAnswer> {
  const { site, access, now, requester } = asked;
  const visible = visibleOf(asked);
  const { live } = visible;
  const body = await site.cache.get(live, `${key} ${accessKey(access)}`, requester, () => {
    const made = make(visible);
    return typeof made === 'string' ? makeBody(type, made) : makeFromPieces(type, made);
  });
  return { body, maxAge: untilNextPoll(live.snapshot, now, site.settings.poll_interval) };
}
