import {
  accountingReader,
  isProblem,
  type AccountingLineProblem,
  type AccountingRecord,
} from '../../src/gridengine/accounting-line';
import { failure, success, type Result } from '../../src/base/result';

/** Reads a single line; the product reads all lines of a file through one `accountingReader`. */
export function parseAccountingLine(line: string): Result<AccountingRecord, AccountingLineProblem> {
  const bytes = Buffer.from(line, 'utf8');
  const read = accountingReader()(bytes, 0, bytes.length);
  return isProblem(read) ? failure(read) : success(read);
}
