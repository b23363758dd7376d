import { askForReport, type ReportQuestion, type ReportReader } from './ask';
import { buildReport } from './build';
import type { Report } from './report';

/** The report on a period, from a store. Rejects with StoreError. */
export async function makeReport(reader: ReportReader, question: ReportQuestion): Promise<Report> {
  return buildReport(await askForReport(reader, question));
}
