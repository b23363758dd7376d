import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';
import { needing, pastJobs } from '../report/past-jobs';
import { startTestSite } from '../server/test-site';
import { temporaryDirectory } from '../support/temporary-directory';
import type { Bench, BenchOptions, Section } from './bench';
import { tail } from './statistics';

/** The time that hooks/advise.jsv adds to a submission: from start to end, as qsub starts it and waits for it. */

const JSV = join(packageRoot(), 'hooks', 'advise.jsv');
/** A job script of 4 KiB; its digest is part of the verifier's query. */
const SCRIPT = join(packageRoot(), 'hooks', 'epilog.sh');
const JOB = { CONTEXT: 'client', USER: 'bob', N: 'step_7', CMDNAME: SCRIPT, l_hard: 'h_vmem=64G' };
const QUESTION = `START\n${Object.entries(JOB)
  .map(([name, value]) => `PARAM ${name} ${value}\n`)
  .join('')}BEGIN\n`;

/** The least that any job verifier in sh does. */
const EMPTY = `#!/bin/sh
while read -r word rest; do
  case $word in
  START) echo STARTED ;;
  BEGIN) echo 'RESULT STATE ACCEPT' ;;
  QUIT) exit 0 ;;
  esac
done
`;

interface Case {
  readonly what: string;
  readonly jsv: string;
  readonly socket: string;
  readonly values: number[];
}

/** In its own session, so that it has no terminal to write to. */
async function delayMs({ jsv, socket }: Case): Promise<number> {
  const began = performance.now();
  const child = spawn('/bin/sh', ['-c', jsv], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH, QMEMACCT_SOCKET: socket },
  });
  const ended = once(child, 'close');
  let said = '';
  child.stdout.on('data', (piece: Buffer) => {
    said += piece.toString();
    if (said.includes('RESULT')) child.stdin.end('QUIT\n');
  });
  child.stdin.write(QUESTION);
  await ended;
  if (!said.endsWith('RESULT STATE ACCEPT\n')) throw new Error(`${jsv} said ${JSON.stringify(said)}`);
  return performance.now() - began;
}

/** A server that accepts connections and never answers. */
async function startHanging(path: string): Promise<() => void> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  server.listen(path);
  await once(server, 'listening');
  return () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
}

async function run({ runs, progress }: BenchOptions): Promise<readonly Section[]> {
  const after: (() => unknown)[] = [];
  const directory = temporaryDirectory();
  const path = (name: string): string => join(directory, name);
  writeFileSync(path('empty'), EMPTY, { mode: 0o755 });
  try {
    const site = await startTestSite(
      { after: (end) => void after.push(end as () => unknown) },
      { records: pastJobs(60, () => needing(8)), settings: { advise_submissions: 'warn' } },
    );
    after.push(await startHanging(path('hanging')));
    const cases: readonly Case[] = [
      { what: 'an empty verifier in sh', jsv: path('empty'), socket: '', values: [] },
      { what: 'no server', jsv: JSV, socket: path('none'), values: [] },
      { what: 'a server that answers', jsv: JSV, socket: site.socket, values: [] },
      { what: 'a server that hangs', jsv: JSV, socket: path('hanging'), values: [] },
    ];
    for (let index = 0; index < runs; index++) {
      progress(`jsv: ${index + 1} of ${runs}`);
      for (const one of cases) one.values.push(await delayMs(one));
    }
    return [
      {
        title: 'jsv: what hooks/advise.jsv adds to a submission, in turns',
        rows: cases.map(({ what, jsv, values }) => ({
          what,
          unit: 'ms' as const,
          values,
          budget: jsv === JSV ? ('submission by the JSV' as const) : undefined,
          note: tail(values),
        })),
      },
    ];
  } finally {
    for (const end of after.reverse()) await end();
  }
}

export const jsvBench: Bench = { name: 'jsv', about: 'what the job submission verifier adds to a submission', run };
