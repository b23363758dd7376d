import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import type { JobDetail, SchedulerReason } from './job-detail';
import { jobDetailXml } from './job-detail-xml';

/**
 * Reads `qstat -j LIST -xml` of any dialect. A job is handed over when its record is complete, so the memory is that of
 * one job; one that the answer is cut in is not. The scheduler's reasons, which stand behind all jobs, go to `onReason`.
 */
export function readJobDetails(
  onJob: (job: JobDetail) => void,
  onReason: (reason: SchedulerReason) => void = () => undefined,
): AnswerReader {
  return readXmlAnswer('detailed_job_info', jobDetailXml(onJob, onReason));
}
