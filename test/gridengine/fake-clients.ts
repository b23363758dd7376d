import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnswerEnd, AnswerReader } from '../../src/gridengine/reading';

/** Scripts in place of Grid Engine's commands, for answers that the real ones can't be made to give at will. */
export interface FakeClients {
  /** The directory of the scripts, to be the first in PATH. */
  readonly bin: string;
  /** Replaces a client by `script` (sh); each run first logs its arguments. */
  put(client: 'qhost' | 'qstat', script: string): void;
  /** The arguments of each run so far. */
  calls(client: 'qhost' | 'qstat'): readonly string[];
}

export function fakeClients(directory: string): FakeClients {
  const bin = join(directory, 'bin');
  mkdirSync(bin, { recursive: true });
  const log = (client: string): string => join(directory, `${client}.log`);
  return {
    bin,
    put: (client, script) => {
      const file = join(bin, client);
      writeFileSync(file, `#!/bin/sh\necho "$*" >> '${log(client)}'\n${script}\n`);
      chmodSync(file, 0o755);
    },
    calls: (client) => (existsSync(log(client)) ? readFileSync(log(client), 'utf8').split('\n').slice(0, -1) : []),
  };
}

/** A reader that collects a client's output; `ended` says how the answer ends. */
export function collector(ended: (text: string) => Partial<AnswerEnd>): AnswerReader & { readonly text: () => string } {
  const pieces: Buffer[] = [];
  const text = (): string => Buffer.concat(pieces).toString('latin1');
  return {
    text,
    write: (piece) => void pieces.push(Buffer.from(piece)),
    end: () => ({ state: 'complete', said: null, dialect: 'unknown', unknownJobs: [], ...ended(text()) }),
  };
}
