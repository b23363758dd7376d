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

/** The report of the sample cluster's night. */
export function sampleReport(
  changes: Partial<ReportQuestion> = {},
  records: readonly JobRecord[] = sampleCluster(),
): Promise<Report> {
  return makeReport(memoryReader(records), { ...QUESTION, ...changes });
}
