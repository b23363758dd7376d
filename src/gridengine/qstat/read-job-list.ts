import type { AnswerReader } from '../reading';
import { readXmlAnswer } from '../xml/xml-answer';
import { jobBuilder } from './job-builder';
import type { ListedJob } from './job-list';
import { jobListXml } from './job-list-xml';

export function readJobList(onJob: (job: ListedJob) => void): AnswerReader {
  return readXmlAnswer('job_info', jobListXml(jobBuilder(onJob)));
}
