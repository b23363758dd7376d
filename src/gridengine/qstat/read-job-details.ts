import { readAnswer } from '../read-answer';
import type { AnswerReader } from '../reading';
import type { JobDetail, SchedulerReason } from './job-detail';
import { jobDetailJson } from './job-detail-json';
import { jobDetailXml } from './job-detail-xml';

/**
 * Reads `qstat -j LIST -xml` or `-fmt json` of any dialect. A job is handed over when its record is complete, so the
 * memory is that of one job; one that the answer is cut in is not. XML tells the scheduler's reasons behind all jobs:
 * they go to `onReason`.
 */
export function readJobDetails(
  onJob: (job: JobDetail) => void,
  onReason: (reason: SchedulerReason) => void = () => undefined,
): AnswerReader {
  return readAnswer({
    root: 'detailed_job_info',
    xml: jobDetailXml(onJob, onReason),
    json: jobDetailJson(onJob),
  });
}
