import type { Unit } from './bench';

interface Budget {
  /** The median must not be above this. */
  readonly most: number;
  readonly unit: Unit;
  /** Where the figure comes from. */
  readonly source: string;
}

const budget = (most: number, unit: Unit, source: string): Budget => ({ most, unit, source });

const SLOT = 'the slot is held meanwhile';
const CORE = 'of a core that jobs could have';
const QACCT = 'qacct -j of 8.1.9 scans a million lines in 0.4 s';
const SERVICE = 'for 64 jobs of 8 processes at rest';

/** Budgets of the benchmarks; each row names its own. */
export const BUDGETS = {
  'prolog over an empty hook': budget(6, 'ms', SLOT),
  'epilog over an empty hook': budget(15, 'ms', SLOT),
  'CPU per job, job scope': budget(160, 'ms', 'Node alone takes a third of it to start'),
  'CPU per job, node scope': budget(5, 'ms', 'without the shells of the hooks'),
  'jobs left undelivered': budget(0, 'jobs', 'no record is lost'),
  'sampler, 20 processes': budget(0.2, '%', CORE),
  'sampler, 200 processes': budget(1, '%', CORE),
  'RSS of a sampler': budget(65, 'MiB', 'must fit beside jobs with small limits'),
  'private memory, 20 processes': budget(12, 'MiB', 'times the jobs of the node'),
  'private memory, 200 processes': budget(15, 'MiB', 'times the jobs of the node'),
  'CPU of the service': budget(2, '%', SERVICE),
  'CPU of the service, busy node': budget(4, '%', 'for 64 jobs of 8 processes that compute'),
  'PSS of the service': budget(40, 'MiB', SERVICE),
  'reading one process': budget(1.3, 'x', 'a C loop that preads the same files'),
  'listener at rest': budget(0.05, '%', CORE),
  'node.db per value': budget(5, 'bytes', 'two weeks of samples on a local disk'),
  'truth outside the bracket': budget(0, '%', 'a bracket that lies is none'),
  'width of the bracket': budget(1, '%', 'of the peak, for ordinary jobs'),
  'jobs not proved': budget(1, '%', 'with default settings'),
  'list of 10,000 jobs': budget(100, 'ms', 'qmaster is asked by one process for all'),
  'refresh of the watch': budget(1000, 'ms', 'its shortest interval'),
  'record in SQLite': budget(450, 'bytes', 'with all indexes'),
  'record in PostgreSQL': budget(750, 'bytes', 'with all indexes'),
  query: budget(5, 'ms', QACCT),
  'advice for a class': budget(50, 'ms', 'over 100 million records'),
  'whole command': budget(150, 'ms', QACCT),
  'screen of 50,000 tasks': budget(1000, 'ms', 'CPU, from the start of Node on'),
  "a month's report": budget(400, 'ms', 'over 820,000 runs'),
  'ten years by owner': budget(50, 'ms', 'from roll-ups'),
  'page over the history': budget(100, 'ms', 'over 100 million records'),
  'page of 10,000 running jobs': budget(300, 'ms', 'as long as a click feels like one'),
  '200 viewers': budget(50, '%', CORE),
  'line into an empty store': budget(10, 'us', '100,000 lines a second'),
  'line into years, half joined': budget(25, 'us', '40,000 lines a second'),
  'row of an export': budget(20, 'us', 'a million records in 20 s'),
  'submission by the JSV': budget(50, 'ms', 'a user waits for qsub'),
  'failures over those stated': budget(1.2, 'x', 'at a stated risk of 1, 2 and 5 %'),
  'traces above twice the stated risk': budget(100 / 6, '%', 'one trace of six'),
  'waste at 1 %': budget(0.67, 'x', 'memory-hours wasted over those used'),
  'waste at 2 %': budget(0.51, 'x', 'memory-hours wasted over those used'),
  'waste at 5 %': budget(0.45, 'x', 'memory-hours wasted over those used'),
  'replay of a million jobs': budget(60, 's', 'as replay is run by hand'),
  'memory of a replay': budget(500, 'MiB', 'beside others on a login host'),
} as const satisfies Readonly<Record<string, Budget>>;

export type BudgetName = keyof typeof BUDGETS;
