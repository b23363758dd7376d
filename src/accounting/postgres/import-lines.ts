import type { AccountingRecord } from '../../gridengine/accounting-line';
import type { JobRecord } from '../../sampler/record';
import type { ImportBatch, ImportOutcome } from '../history-store';
import { hasStarted, lineRunId, recordOfLine } from '../import/line-record';
import type { AccountingReader, MergeOutcome } from '../store';
import type { Connection } from './connect';

interface Outcome {
  readonly change?: (MergeOutcome & { readonly ok: true })['change'];
  readonly error?: string;
}

interface Answer {
  readonly conflict?: boolean;
  readonly outcomes?: readonly Outcome[];
}

/** A job that never started may have several lines of one submission: each is a run of its own, numbered. */
function numberedRuns(reader: AccountingReader, cluster: string): (line: AccountingRecord) => Promise<number> {
  const next = new Map<string, number>();
  return async (line) => {
    if (hasStarted(line)) return 0;
    const name = `${line.jobId}/${line.task}/${line.peTaskId ?? ''}/${lineRunId(line, 0)}`;
    let number = next.get(name);
    if (number === undefined) {
      const begin = lineRunId(line, 0).replace(/\d+$/, '');
      const { records } = await reader.job({ job_id: line.jobId, cluster, all: true });
      number = records.filter(
        ({ record }) =>
          (record.task_id ?? 0) === line.task && record.pe_task_id === line.peTaskId && record.run_id.startsWith(begin),
      ).length;
    }
    next.set(name, number + 1);
    return number;
  };
}

/** Takes a batch of accounting lines in, in one transaction. */
export async function importLines(
  db: Connection,
  reader: AccountingReader,
  { file, before, lines, unreadable }: ImportBatch,
): Promise<ImportOutcome> {
  const { cluster } = file;
  const numberOf = numberedRuns(reader, cluster);
  const records: JobRecord[] = [];
  for (const line of lines) records.push(recordOfLine(line, { cluster, earlier: await numberOf(line) }));
  const [row] = await db.query<{ answer: Answer }>(
    'SELECT qmemacct.import_lines($1::text::jsonb, $2::text::jsonb, $3::text::jsonb, $4::text::jsonb) AS answer',
    [file, before, records, unreadable.map((line) => ({ ...line, text: line.text.replaceAll('\0', '\uFFFD') }))].map(
      (value) => JSON.stringify(value),
    ),
  );
  const outcomes = row?.answer.outcomes ?? [];
  const count = (change: Outcome['change']): number => outcomes.filter((outcome) => outcome.change === change).length;
  return {
    added: count('added'),
    joined: count('changed'),
    // A line that can't be stored changes nothing, either.
    unchanged: outcomes.length - count('added') - count('changed'),
    conflict: row?.answer.conflict ?? false,
  };
}
