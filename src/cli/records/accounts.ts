import type { AccountingReader, RecordFilter, RecordPage, Shown } from '../../accounting/store';
import { pagesOf } from '../../export/records';
import type { JobRecord } from '../../record/record';
import type { ClassHistory } from '../../report/advice/class-history';
import { Accounts } from '../../report/records/accounts';
import { CsvWriter } from '../../report/records/csv';
import { JsonWriter, type Account, type AccountWriter } from '../../report/records/json';
import { Kinds, KIND_FIELDS } from '../../report/rules/kinds';
import type { RuleSet } from '../../report/rules/rule-set';
import { writePieces } from '../output';
import type { Terminal } from '../terminal';
import { jobsIn } from './find';
import { warnOfHiddenJobs } from './subject';

/** Where accounts are written to. `judge` may change them first. */
interface AccountOutput {
  readonly writer: AccountWriter;
  readonly terminal: Terminal;
  readonly judge?: (accounts: readonly Account[]) => readonly Account[];
}

/** Where records come from, and what they are judged by. */
export interface AccountSources {
  readonly readers: readonly AccountingReader[];
  readonly history: ClassHistory;
  readonly rules: RuleSet;
}

export const writerOf = (format: 'json' | 'csv'): AccountWriter =>
  format === 'json' ? new JsonWriter() : new CsvWriter();

/** How many records are judged and written at a time. */
const WRITTEN_AT_ONCE = 1000;

/** Writes accounts of records, some at a time; resolves to their number. Rejects with StoreError. */
export async function writeAccounts(
  pages: AsyncIterable<readonly JobRecord[]> | Iterable<readonly JobRecord[]>,
  kinds: Kinds,
  { readers, history, rules }: AccountSources,
  { writer, terminal, judge = (found) => found }: AccountOutput,
): Promise<number> {
  const accounts = new Accounts(jobsIn(readers), history, { rules, kindOf: kinds.of });
  let written = 0;
  for await (const page of pages)
    for (let at = 0; at < page.length; at += WRITTEN_AT_ONCE) {
      const found = await accounts.of(page.slice(at, at + WRITTEN_AT_ONCE));
      writePieces(terminal, writer.some(judge(found)));
      written += found.length;
    }
  writePieces(terminal, writer.end());
  return written;
}

async function* recordPages(pages: AsyncIterable<RecordPage>): AsyncGenerator<readonly JobRecord[]> {
  for await (const { records } of pages) yield records.map(({ record }) => record);
}

/** Writes all records of a filter, store by store, newest first, in bounded memory; resolves to their number. */
export async function writeAll(filter: RecordFilter, sources: AccountSources, output: AccountOutput): Promise<number> {
  const { readers } = sources;
  const kinds = new Kinds();
  let shown: Shown | undefined;
  for await (const page of pagesOf({ ...filter, fields: KIND_FIELDS }, readers)) {
    shown ??= page.shown;
    kinds.add(page.records.map(({ record }) => record));
  }
  warnOfHiddenJobs(shown, filter.owner, output.terminal);
  return writeAccounts(recordPages(pagesOf(filter, readers)), kinds, sources, output);
}
