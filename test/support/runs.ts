import type { RunDescription } from '../../src/sampler/job/run-description';

/** What root's prolog writes about job 1, with a shepherd pid that no process has; `fields` replace values. */
export function runOf(fields: Partial<RunDescription> = {}): RunDescription {
  return {
    job: 1,
    task: 0,
    spool: '/s',
    shepherdPid: 2 ** 22 - 1,
    shepherdStart: 5,
    boot: '0badcafe-0000-0000-0000-000000000000',
    hooks: 'root',
    memory: 'full',
    reason: '',
    addressSpaceKib: null,
    attached: false,
    peTask: null,
    ends: 'epilog',
    ...fields,
  };
}
