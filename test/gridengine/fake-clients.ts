import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnswerEnd, AnswerReader } from '../../src/gridengine/reading';

/** Scripts in the place of Grid Engine's commands, for what the real ones can't be made to do at will. */
export interface FakeClients {
  /** Goes in front of the others in PATH. */
  readonly bin: string;
  /** Puts `script` (sh) in the place of a client; each run leaves a line in its log before. */
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

/** Collects what a client prints, and ends as it is told. */
export function collector(ended: (text: string) => Partial<AnswerEnd>): AnswerReader & { readonly text: () => string } {
  const pieces: Buffer[] = [];
  const text = (): string => Buffer.concat(pieces).toString('latin1');
  return {
    text,
    write: (piece) => void pieces.push(Buffer.from(piece)),
    end: () => ({ state: 'complete', said: null, dialect: 'unknown', unknownJobs: [], ...ended(text()) }),
  };
}
