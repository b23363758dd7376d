import { processes } from './job/processes';
import { loadavg } from './node/loadavg';
import type { Source } from './source';

/** Every source of node-wide samples, in the order in which people see them. */
export const NODE_SOURCES: readonly Source[] = [loadavg];

/** What is known of a source without opening it. */
export type SourceFacts = Omit<Source, 'open'>;

/** Every source of samples, with those that are asked about a job or its processes: what `qmemacct metrics` lists. */
export const ALL_SOURCE_FACTS: readonly SourceFacts[] = [processes, ...NODE_SOURCES];
