import { AFTER_SIGNAL } from '../../gridengine/failed-code';
import { endingSignal } from '../../record/job-end';
import { requestedSeconds } from '../../gridengine/category-requests';
import { formatDuration } from '../format/units';
import { endedBy, whenEnded, type BadEnd } from './bad-end';
import { missingLine, SIGKILL, SIGUSR1, SIGXCPU } from './bad-end';
import { judge, type Hypothesis, type Judge } from './hypothesis';
import { notAsked, notByExecd } from './memory';
import type { Words } from './words';

/** execd starts its clock when it sees the job run, the job a moment before; both count whole seconds. */
const CLOCK_SECONDS = 2;
/**
 * The kernel counts whole ticks against the limit, while the figures are exact: they may differ by this much, most
 * where a job had to share its CPU (2.49 s were seen of 3 s).
 */
const CPU_SHARE = 0.05;
const CPU_SECONDS = 1;

function reachedTime(end: BadEnd, complex: string, judged: Judge, words: Words): Hypothesis {
  const limit = end.asked === null ? null : requestedSeconds(end.asked, complex);
  if (limit === null) return notAsked(end, complex, judged, words);
  if (end.seconds === null) return judged.undecidable('how long it ran is not known', missingLine(end));
  const ran = `it ran ${formatDuration(end.seconds)} of the ${formatDuration(limit)} of ${complex}`;
  return end.seconds >= limit - CLOCK_SECONDS
    ? judged.consistent(2, `${ran}${whenEnded(end, words)}`)
    : judged.contradicted(ran);
}

/** execd's kill at h_rt. */
export function killedAtTime(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('h_rt', "Grid Engine's kill at h_rt");
  const never = notByExecd(end);
  if (never !== null) return end.signal === SIGKILL ? judged.contradicted(never) : judged.otherwise(never);
  return reachedTime(end, 'h_rt', judged, words);
}

/** execd's SIGUSR1 at s_rt. */
export function softTime(end: BadEnd, words: Words): Hypothesis {
  const judged = judge('s_rt', "Grid Engine's SIGUSR1 at s_rt");
  // execd kills the tasks of a parallel job first, so that any record may have the signal.
  if (!end.records.some((record) => endingSignal(record) === SIGUSR1))
    return judged.otherwise(`it ended ${endedBy(end)}, s_rt sends SIGUSR1`);
  return reachedTime(end, 's_rt', judged, words);
}

/** h_cpu and s_cpu: the kernel's for each process, execd's for all together. */
export function cpuTime(end: BadEnd, words: Words): Hypothesis {
  const soft = end.signal === SIGXCPU;
  const complex = soft ? 's_cpu' : 'h_cpu';
  const judged = judge('cpu-time', `the limit of CPU time (${complex})`);
  if (end.signal !== SIGKILL && !soft && end.enforced === null)
    return judged.otherwise(`it ended ${endedBy(end)}, a limit of CPU time sends SIGXCPU or SIGKILL`);
  if (end.enforced === null && end.failed !== null && ![0, AFTER_SIGNAL].includes(end.failed))
    return judged.contradicted(`Grid Engine says failed ${end.failed}`);
  const perSlot = end.asked === null ? null : requestedSeconds(end.asked, complex);
  if (perSlot === null) return notAsked(end, complex, judged, words);
  const limit = perSlot * end.slots;
  if (end.cpuSeconds === null) return judged.undecidable('how much CPU time it used is not known', missingLine(end));
  const used = `it used ${formatDuration(end.cpuSeconds)} CPU time of the ${formatDuration(limit)} of ${complex}`;
  return end.cpuSeconds >= limit - Math.max(CPU_SECONDS, CPU_SHARE * limit)
    ? judged.consistent(2, used)
    : judged.contradicted(used);
}
