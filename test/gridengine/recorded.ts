import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const fixtures = join(__dirname, '..', '..', '..', 'test', 'gridengine', 'fixtures');

/** An answer recorded on a live cell (the README in fixtures says how), by dialect and name. */
export function recorded(dialect: string, name: string): Buffer {
  return readFileSync(join(fixtures, dialect, `${name}.xml`));
}

/** How often a text stands in an answer, by plain search. */
export function occurrences(answer: Buffer, text: string): number {
  return answer.toString('latin1').split(text).length - 1;
}
