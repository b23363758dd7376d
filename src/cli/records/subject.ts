import { isHostPattern } from '../../accounting/filter-record';
import type { Shown } from '../../accounting/store';
import { prunedWords } from '../../accounting/upkeep';
import type { Settings } from '../../record/settings';
import { MANY_OWNERS_COLUMNS, OWNER_COLUMNS, type RecordColumnName } from '../../report/records/columns';
import { describeFilter } from '../../report/records/filter-text';
import type { Screen } from '../../report/screen/screen';
import { warn } from '../output';
import type { Interval } from '../arguments';
import type { Terminal } from '../terminal';
import { queueChoice, type RecordChoice } from './options';

/** What a list of records is about: an owner, a project, a queue, a host, or any filter. */
export interface RecordSubject {
  readonly choice: RecordChoice;
  /** "Jobs of bob", "Jobs"; escaped for the terminal. */
  readonly title: (screen: Screen) => string;
  /** "bob: no job", for messages; not escaped, as `warn` does that. */
  readonly nothing: string;
  readonly columns: readonly RecordColumnName[];
}

function ownerSubject(owner: string): RecordSubject {
  return {
    choice: { owner },
    title: (screen) => `Jobs of ${screen.safe(owner)}`,
    nothing: `${owner}: no job`,
    columns: OWNER_COLUMNS,
  };
}

function projectSubject(project: string): RecordSubject {
  return {
    choice: { project },
    title: (screen) => `Jobs of project ${screen.safe(project)}`,
    nothing: `project ${project}: no job`,
    columns: MANY_OWNERS_COLUMNS,
  };
}

function queueSubject(queue: string): RecordSubject {
  return {
    choice: queueChoice(queue),
    title: (screen) => `Jobs in queue ${screen.safe(queue)}`,
    nothing: `queue ${queue}: no job`,
    columns: MANY_OWNERS_COLUMNS,
  };
}

/** One host, or the hosts that match patterns. */
function hostSubject(host: string): RecordSubject {
  const several = isHostPattern(host);
  return {
    choice: { host },
    title: (screen) => `Jobs on ${several ? 'hosts' : 'host'} ${screen.safe(host)}`,
    nothing: `host ${host}: no job`,
    columns: several ? MANY_OWNERS_COLUMNS : MANY_OWNERS_COLUMNS.filter((name) => name !== 'host'),
  };
}

const NAMED = { owner: ownerSubject, project: projectSubject, queue: queueSubject, host: hostSubject };
export type NamedSubject = keyof typeof NAMED;

/** The jobs of one owner, project, queue or host. */
export function namedSubject(subject: NamedSubject, name: string): RecordSubject {
  return NAMED[subject](name);
}

/** The jobs that a filter chooses. */
export function filterSubject(choice: RecordChoice): RecordSubject {
  const chosen = Object.keys(choice).length > 0;
  return {
    choice,
    title: (screen) => (chosen ? `Jobs: ${describeFilter(choice, screen)}` : 'Jobs'),
    nothing: chosen ? 'no such job' : 'no job',
    columns: choice.owner === undefined ? MANY_OWNERS_COLUMNS : OWNER_COLUMNS,
  };
}

const WORDS: Readonly<Record<Shown, string>> = {
  anonymous: 'this site shows you the jobs of others without owners and names',
  project: 'this site shows you your own jobs and those of your projects; sums are over these',
  own: 'this site shows you your own jobs only; sums are over these',
};

/** Tells a user who asked for everybody's jobs that not all are shown. */
export function warnOfHiddenJobs(shown: Shown | undefined, owner: string | undefined, terminal: Terminal): void {
  if (shown !== undefined && owner === undefined) warn(terminal, WORDS[shown]);
}

/** Warns where a period begins before the records that are kept; returns whether it ends before them, too. */
export function warnOfPrunedRecords(
  { keep_records_days: days }: Settings,
  { since, until }: Interval,
  what: 'listed' | 'counted',
  terminal: Terminal,
): boolean {
  const now = terminal.now().getTime();
  const words = prunedWords(days, since.getTime(), now, what);
  if (words === null) return false;
  warn(terminal, words);
  return prunedWords(days, until.getTime() - 1, now, what) !== null;
}
