import type { JobRecord } from '../../src/record/record';
import { arrayOfTwenty, hostile, killedAtLimit, lost, ordinary, running, selfReported } from './sample-records';

/** Jobs of several owners, projects and hosts; every record has its own key. */
export const MANY_OWNERS: readonly JobRecord[] = [
  { ...ordinary, project: 'genome' },
  { ...killedAtLimit, owner: 'alice', project: 'genome', host: 'node08' },
  { ...running, owner: 'alice', project: 'NONE' },
  { ...lost, owner: 'carol', project: 'proteins' },
  { ...selfReported, owner: 'carol', project: null },
  { ...hostile, project: 'genome', requests: {} },
  ...arrayOfTwenty.map((task) => ({ ...task, owner: 'dave', project: 'sweeps', host: 'node09.cluster.example' })),
];
