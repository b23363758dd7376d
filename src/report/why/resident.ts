import { DIALECT_FACTS } from '../../gridengine/dialect';
import { CLOSE_TO_LIMIT } from '../../record/cause';
import { judgedEnd, measuredUpper } from '../../record/peak-figure';
import { formatBytes, formatRequested } from '../format/units';
import { A_SAMPLER, endedBy, SIGKILL, SIGXCPU, whenEnded, type BadEnd } from './bad-end';
import { judge, type Hypothesis } from './hypothesis';
import { notByExecd, requestedTogether } from './memory';
import { amountOf, type Words } from './words';

/** h_rss and s_rss, which execd compares with what all processes hold together, where it enforces them at all. */
export function residentLimit(end: BadEnd, words: Words): Hypothesis {
  const soft = end.signal === SIGXCPU;
  const complex = soft ? 's_rss' : 'h_rss';
  const judged = judge('resident-memory', soft ? "Grid Engine's SIGXCPU at s_rss" : "Grid Engine's own kill at h_rss");
  if (!soft && end.signal !== SIGKILL && end.enforced === null)
    return judged.otherwise(`it ended ${endedBy(end)}, a limit of resident memory sends SIGXCPU or SIGKILL`);
  if (DIALECT_FACTS[end.dialect].enforcesRss === false)
    return judged.otherwise(`Grid Engine does not enforce ${complex} here`);
  const [part] = end.hosts;
  const limit = part === undefined ? null : requestedTogether(end, part.record, complex);
  if (part === undefined || limit === null) return judged.otherwise(`no ${complex} is known`);
  const never = soft ? null : notByExecd(end);
  if (never !== null) return judged.contradicted(never);
  const weight = end.enforced === null ? 1 : 2;
  const of = `of the ${formatRequested(limit)} of ${complex} on ${words.safe(part.host)}`;
  const { peak_rss: held, grid_engine: account } = part.record;
  if (held === null) {
    // For a job on one host, maxrss is that of the whole job.
    const counted = end.dialect === 'ocs' && !end.parallel ? (account?.maxrss_bytes ?? 0) : 0;
    return counted >= CLOSE_TO_LIMIT * limit
      ? judged.consistent(weight, `Grid Engine counted ${formatBytes(counted)} ${of} (maxrss)${whenEnded(end, words)}`)
      : judged.undecidable(`what it held ${of} is not known`, A_SAMPLER);
  }
  const amount = `it held ${amountOf(held)} ${of}`;
  if (held.lower_bytes >= limit) return judged.consistent(2, amount + whenEnded(end, words));
  if (judgedEnd(held) >= CLOSE_TO_LIMIT * limit) return judged.consistent(weight, amount + whenEnded(end, words));
  return measuredUpper(held) === null
    ? judged.undecidable(amount, 'a shorter interval of the samples')
    : judged.contradicted(amount);
}
