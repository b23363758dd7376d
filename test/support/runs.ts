import type { RunDescription } from '../../src/sampler/job/run-description';

/** What root's prolog says of job 1, whose shepherd is nobody's process; but for what is given. */
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
