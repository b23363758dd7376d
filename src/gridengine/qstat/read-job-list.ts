import { readAnswer } from '../read-answer';
import type { AnswerReader } from '../reading';
import { jobBuilder } from './job-builder';
import type { ListedJob } from './job-list';
import { jobListJson } from './job-list-json';
import { jobListXml } from './job-list-xml';

/**
 * Reads qstat's lists (`qstat [-u ...] [-s ...] [-r] [-ext] [-urg] [-f] [-F] [-t] [-g t|d] -xml`) of any dialect, or
 * `-fmt json`; rows come in the order of the answer. `-ext` alone drops both times: `-urg` beside it brings them back.
 */
export function readJobList(onJob: (job: ListedJob) => void): AnswerReader {
  const jobs = jobBuilder(onJob);
  return readAnswer({ root: 'job_info', xml: jobListXml(jobs), json: jobListJson(jobs) });
}
