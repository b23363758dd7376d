import { describeFilter } from '../report/filter-text';
import { MANY_OWNERS_COLUMNS, OWNER_COLUMNS, type RecordColumnName } from '../report/record-columns';
import type { Screen } from '../report/screen';
import type { RecordChoice } from './record-filter-options';

/** Whose records a list is of: the part that its command names. */
export interface RecordSubject {
  readonly choice: RecordChoice;
  /** "Jobs of bob", "Jobs": harmless text. */
  readonly title: (screen: Screen) => string;
  /** "bob", "project genome": for messages, which are made harmless on their way. */
  readonly who: string;
  readonly columns: readonly RecordColumnName[];
}

export function ownerSubject(owner: string): RecordSubject {
  return {
    choice: { owner },
    title: (screen) => `Jobs of ${screen.safe(owner)}`,
    who: owner,
    columns: OWNER_COLUMNS,
  };
}

export function projectSubject(project: string): RecordSubject {
  return {
    choice: { project },
    title: (screen) => `Jobs of project ${screen.safe(project)}`,
    who: `project ${project}`,
    columns: MANY_OWNERS_COLUMNS,
  };
}

/** A queue (`all.q`), or one of its instances (`all.q@node01`). */
export function queueSubject(queue: string): RecordSubject {
  const [name = '', host = ''] = queue.split('@', 2);
  return {
    choice: { queue: name, ...(host === '' ? {} : { host }) },
    title: (screen) => `Jobs in queue ${screen.safe(queue)}`,
    who: `queue ${queue}`,
    columns: MANY_OWNERS_COLUMNS,
  };
}

export function hostSubject(host: string): RecordSubject {
  return {
    choice: { host },
    title: (screen) => `Jobs on host ${screen.safe(host)}`,
    who: `host ${host}`,
    columns: MANY_OWNERS_COLUMNS.filter((name) => name !== 'host'),
  };
}

/** Whatever a filter chooses. */
export function filterSubject(choice: RecordChoice): RecordSubject {
  const chosen = Object.keys(choice).length > 0;
  return {
    choice,
    title: (screen) => (chosen ? `Jobs: ${describeFilter(choice, screen)}` : 'Jobs'),
    who: chosen ? 'these filters' : 'jobs',
    columns: choice.owner === undefined ? MANY_OWNERS_COLUMNS : OWNER_COLUMNS,
  };
}
