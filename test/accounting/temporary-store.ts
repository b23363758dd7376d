import { join } from 'node:path';
import { temporaryDirectory } from '../support/temporary-directory';

/** The path of a store in a directory of its own, gone after the test. */
export function temporaryStore(): string {
  return join(temporaryDirectory(), 'accounting.db');
}
