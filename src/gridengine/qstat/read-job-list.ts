import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import { jobBuilder } from './job-builder';
import type { ListedJob } from './job-list';
import { jobListXml } from './job-list-xml';

/**
 * Reads qstat's lists (`qstat [-u ...] [-s ...] [-r] [-ext] [-urg] [-f] [-F] [-t] [-g t|d] -xml`) of any dialect; rows
 * come in the order of the answer. `-ext` alone drops both times: `-urg` beside it brings them back.
 */
export function readJobList(onJob: (job: ListedJob) => void): AnswerReader {
  return readXmlAnswer('job_info', jobListXml(jobBuilder(onJob)));
}
