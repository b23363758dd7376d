import { categoryRequests, requestedMemory } from '../../gridengine/category-requests';
import { formatBytes, formatCount, formatPercent, formatRequested } from '../format/units';
import type { MemoryPrediction } from './class-advice';
import { exactSize } from './next-time';

/** A request of this many times what is advised is far too large. */
const FAR = 2;
/** A job's request is not lowered at a larger risk than this. */
const RISK_OF_LESS = 0.01;

const NOTHING = 'keep\n';

/**
 * What hooks/advise.jsv is to do with a submission, in one line: `keep`; or `warn` (on the terminal) or `set` (also
 * change the request), then the advised request and a sentence. `requests`: "h_vmem=4G,h_rt=3600"; `prediction`: from
 * past runs of its kind, null: none.
 */
export function submissionLine(requests: string, prediction: MemoryPrediction | null, mayRewrite: boolean): string {
  const asked = prediction === null ? null : requestedMemory(categoryRequests(`-l ${requests}`), prediction.complex);
  if (prediction === null || asked === null) return NOTHING;
  const { complex, amount, text, largest, stoppedAt, runs, risk } = prediction;
  const less = asked < Math.min(amount, largest);
  const isMore = risk !== null && asked >= amount * FAR;
  if (!less && !isMore) return NOTHING;
  const given = `${complex}=${exactSize(asked)}`;
  const advised = `${complex}=${text}`;
  const most =
    stoppedAt === null ? `needed ${formatBytes(largest, 'up')}` : `was stopped at ${formatRequested(stoppedAt)}`;
  const past = `of ${formatCount(runs)} such runs the largest ${most}`;
  const enough = risk === null ? `request ${advised}` : `${advised} is enough for ${formatPercent(1 - risk)} of them`;
  const fault = less ? 'is too little' : `is ${formatCount(Math.floor(asked / amount))} times what is needed`;
  const isSet = mayRewrite && risk !== null && (less || risk <= RISK_OF_LESS);
  const done = isSet ? '; it is set to that, which "qsub -ac qmemacct_request=keep" prevents' : '';
  return `${isSet ? 'set' : 'warn'} ${advised} ${given} ${fault}: ${past}, ${enough}${done}\n`;
}
