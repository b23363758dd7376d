import type { Shown } from '../accounting/store';
import { warn } from './output';
import type { Terminal } from './terminal';

const WORDS: Readonly<Record<Shown, string>> = {
  anonymous: 'this site shows you the jobs of others without owners and names',
  project: 'this site shows you your own jobs and those of your projects; sums are over these',
  own: 'this site shows you your own jobs only; sums are over these',
};

/** Tells a user who asked for everybody's jobs that not all are shown. */
export function sayShown(shown: Shown | undefined, owner: string | undefined, terminal: Terminal): void {
  if (shown !== undefined && owner === undefined) warn(terminal, WORDS[shown]);
}
