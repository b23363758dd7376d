import { makeReport } from '../../../src/report/efficiency/build';
import type { ReportQuestion } from '../../../src/report/efficiency/ask';
import type { Report } from '../../../src/report/efficiency/report';
import type { JobRecord } from '../../../src/record/record';
import { memoryReader } from './memory-reader';
import { NIGHT, sampleCluster } from './sample-cluster';

export const QUESTION: ReportQuestion = {
  ...NIGHT,
  by: 'owner',
  owner: null,
  cluster: null,
  now: new Date('2026-11-21T01:00:00Z'),
};

let night: Promise<Report> | null = null;

/** The report of the sample cluster's night. */
export function sampleReport(changes?: Partial<ReportQuestion>, records?: readonly JobRecord[]): Promise<Report> {
  if (changes === undefined && records === undefined)
    return (night ??= makeReport(memoryReader(sampleCluster()), QUESTION));
  return makeReport(memoryReader(records ?? sampleCluster()), { ...QUESTION, ...changes });
}
