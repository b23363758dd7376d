import type { AccountingReader } from '../../accounting/store';
import type { Dialect } from '../../gridengine/dialect';
import { ClassHistory } from '../../report/advice/class-history';
import { escapeForHtml } from '../../report/format/escape';
import { formatCount, plural } from '../../report/format/units';
import { describeEnding, succeeded } from '../../report/job/ending';
import { renderJob } from '../../report/job/job';
import { latestRuns, recordsOf, type JobRun } from '../../report/job/job-run';
import { groupBy } from '../../base/group-by';
import { mailScreen } from '../../report/screen/screen';
import { truncate } from '../../report/screen/text-width';
import type { Message } from '../mail/message';
import type { RiskFact } from './cluster-facts';
import type { EndedJob } from './ended-jobs';

const LONGEST_NAME = 80;

/** Subject and text of a mail. */
export type MailText = Pick<Message, 'subject' | 'text' | 'html'>;

function mailText(subject: string, lines: readonly string[], stop: string): MailText {
  const text = `${lines.map((line) => line.trimEnd()).join('\n')}\n\n-- \n${stop}\n`;
  return {
    subject,
    text,
    html: `<!doctype html><meta charset="utf-8"><title>qmemacct</title><body><pre>${escapeForHtml(text)}</pre></body>`,
  };
}

/** The last line of mails that were turned on by "qmemacct digest". */
export const turnedOn = (host: string): string => `You turned it on; "qmemacct digest off" on ${host} stops it.`;
/** The last line of mails that a submission asked for. */
export const ASKED_FOR = 'The job was submitted with -ac qmemacct=mail, which asks for this mail.';

/** A name for a subject: what is said of the job comes after it, and a long subject is cut. */
const shortName = (name: string): string => truncate(name, LONGEST_NAME, '…');

function subjectOf(job: number, runs: readonly JobRun[]): string {
  const tasks = [...groupBy(runs, ({ record }) => record.task_id).values()].map((task) => recordsOf(latestRuns(task)));
  const [first] = tasks[0] ?? [];
  const name = first?.job_name == null ? '' : ` (${shortName(first.job_name)})`;
  if (first?.task_id == null) return `Job ${job}${name}: ${first === undefined ? 'ended' : describeEnding(first)}`;
  const bad = tasks.filter((records) => records.some((record) => succeeded(record) === false)).length;
  const well = bad === 0 ? '' : `, ${formatCount(bad)} of them badly`;
  return `Array job ${job}${name}: ${plural(tasks.length, 'task')} ended${well}`;
}

/** The mail about an ended job, with what "qmemacct job" shows; `stop`: its last line. Rejects with StoreError. */
export async function endedMail(
  { job, cluster, lastEnd }: EndedJob,
  reader: AccountingReader,
  { dialect, stop, now }: { readonly dialect: Dialect; readonly stop: string; readonly now: Date },
): Promise<MailText> {
  const found = await reader.job({ job_id: job, cluster, at: lastEnd });
  const history = new ClassHistory(async (query) => (await reader.records(query)).records, now.getTime());
  const runs = await history.advise(found.records);
  const report = { job_id: job, runs, older: 0, newer: 0 };
  const lines = renderJob(report, { allTasks: false, dialect }, mailScreen(now));
  return mailText(subjectOf(job, runs), lines, stop);
}

/** The mail about a job that may run out of memory. */
export function riskMail({ job, name, line }: RiskFact, host: string): MailText {
  const lines = [
    line,
    '',
    `"qmemacct job ${job}" shows it, "qmemacct advise ${job}" what to request next time.`,
    'There is no other mail about this job for this reason.',
  ];
  return mailText(`Job ${job} (${shortName(name)}) may run out of memory`, lines, turnedOn(host));
}
