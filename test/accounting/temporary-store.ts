import { join } from 'node:path';
import { temporaryDirectory } from '../support/temporary-directory';

/** The path of a new store in a temporary directory, removed after the test. */
export function temporaryStore(): string {
  return join(temporaryDirectory(), 'accounting.db');
}
