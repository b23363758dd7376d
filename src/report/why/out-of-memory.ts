import { oomKills } from '../../record/cause';
import { formatRequested } from '../format/units';
import { endedBy, limitSays, SIGKILL, SIGTERM, type BadEnd } from './bad-end';
import { judge, type Hypothesis, type Judge } from './hypothesis';
import type { Words } from './words';

interface Kills {
  readonly count: number;
  readonly atLimit: boolean | null;
  readonly host: string;
}

/** What the OOM killer did to the job on all its hosts; null: nothing is known of it. */
function killsOf(end: BadEnd): Kills | null {
  const known = end.records.flatMap((record) => {
    const kills = oomKills(record);
    return kills === null ? [] : [{ ...kills, host: record.host }];
  });
  const first = known.find(({ count }) => count > 0) ?? known[0];
  return first === undefined ? null : { ...first, count: known.reduce((sum, { count }) => sum + count, 0) };
}

/** SIGTERM is one of these ends: systemd stops a scope by it when the kernel has killed a process there. */
const couldBeOom = (end: BadEnd): boolean =>
  end.signal === SIGKILL ||
  (end.signal === 0 && (end.status ?? 0) > 0) ||
  (end.signal === SIGTERM && (killsOf(end)?.count ?? 0) > 0);

function notByOom(end: BadEnd): string | null {
  if (!couldBeOom(end)) return `it ended ${endedBy(end)}, the kernel's killer sends SIGKILL`;
  return limitSays(end);
}

const kernelLog = (end: BadEnd, words: Words): string =>
  `the kernel's log on ${words.safe(end.subject.host)} (journalctl -k)`;

/** For a job of which no cgroup was read: an error status alone does not point to the kernel. */
function withoutCgroup(end: BadEnd, judged: Judge, words: Words): Hypothesis {
  return end.signal === SIGKILL
    ? judged.undecidable('nothing that was read shows it', kernelLog(end, words))
    : judged.otherwise(`it ended ${endedBy(end)}, and nothing shows a kill`);
}

const processes = (count: number): string => `${count} process${count === 1 ? '' : 'es'}`;

/** The kernel's OOM killer, for the limit of the job's own control group. */
export function outOfMemoryGroup(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('cgroup-out-of-memory', "the kernel's out-of-memory killer, for a full cgroup");
  const never = notByOom(end);
  if (never !== null) return end.signal === SIGKILL ? judged.contradicted(never) : judged.otherwise(never);
  const kills = killsOf(end);
  if (kills === null) return withoutCgroup(end, judged, words);
  if (kills.count === 0) return judged.contradicted('it killed nothing in the cgroup of the job');
  const killed = `it killed ${processes(kills.count)} in the cgroup of the job on ${words.safe(kills.host)}`;
  if (kills.atLimit === false) return judged.contradicted(`${killed}, though no limit of that was reached`);
  const limit = end.subject.metrics.cgroup_memory_limit_bytes;
  const at = limit === undefined ? '' : `, which may hold ${formatRequested(limit)}`;
  return judged.consistent(end.signal === 0 ? 2 : 3, `${killed}${at}`);
}

/** The kernel's OOM killer, for lack of memory on the node. */
export function outOfMemoryNode(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('node-out-of-memory', "the kernel's out-of-memory killer, for a full node");
  const never = notByOom(end);
  if (never !== null) return end.signal === SIGKILL ? judged.contradicted(never) : judged.otherwise(never);
  const kills = killsOf(end);
  const log = kernelLog(end, words);
  if (kills !== null && kills.count > 0) {
    const killed = `it killed ${processes(kills.count)} of the job on ${words.safe(kills.host)}`;
    if (kills.atLimit === false)
      return judged.consistent(3, `${killed}, and no limit of the job's cgroup had been reached`);
    if (kills.atLimit === true) return judged.contradicted(`${killed} at the limit of the job's cgroup`);
    return judged.undecidable(killed, log);
  }
  if (kills !== null) return judged.contradicted('it killed nothing in the cgroup of the job');
  return end.direct === false && end.signal === SIGKILL
    ? judged.consistent(1, 'it takes one process of a job and leaves its shell', log)
    : withoutCgroup(end, judged, words);
}
