import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { COMMAND } from '../support/qmemacct';
import { detail, DETAILS_HEAD, DETAILS_TAIL, document, list } from './live-documents';

/** `qmemacct serve` over a store, with clients of Grid Engine that print the documents of a busy cluster. */
export interface WebSite {
  readonly port: number;
  /** User and system time of the server so far, in seconds. */
  readonly cpuSeconds: () => number;
  /** How often qstat and qhost were run so far. */
  readonly calls: () => number;
  readonly stop: () => Promise<void>;
}

const TICKS_PER_SECOND = 100;

/** qstat and qhost that print files, and log each call. */
function makeClients(directory: string, jobs: number): void {
  const details = join(directory, 'details');
  mkdirSync(join(directory, 'bin'));
  mkdirSync(details);
  writeFileSync(join(directory, 'asked'), '');
  writeFileSync(join(directory, 'qhost.xml'), Buffer.concat([...document('qhost', jobs)]));
  writeFileSync(join(directory, 'list.xml'), [...list(jobs, jobs)].join(''));
  writeFileSync(join(details, 'head'), DETAILS_HEAD);
  writeFileSync(join(details, 'tail'), DETAILS_TAIL);
  for (let job = 1; job <= jobs; job++) writeFileSync(join(details, String(job)), detail(job));
  const client = (name: string, script: string): void =>
    writeFileSync(join(directory, 'bin', name), `#!/bin/sh\necho ${name} >>"${directory}/asked"\n${script}\n`, {
      mode: 0o755,
    });
  client('qhost', `exec cat "${directory}/qhost.xml"`);
  client(
    'qstat',
    `[ "$1" = -j ] || exec cat "${directory}/list.xml"\ncd "${details}" && exec cat head $(echo "$2" | tr , ' ') tail`,
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Starts one for `accounting` and so many running jobs, in an empty directory; resolves when it listens. */
export async function startWebSite(directory: string, accounting: string, jobs: number): Promise<WebSite> {
  makeClients(directory, jobs);
  const port = await freePort();
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `accounting = "${accounting}"\nserve_port = ${port}\nrun_dir = "${directory}"\n`);
  const words = [COMMAND, '--config', config, 'serve', '--socket', 'none'];
  const server: ChildProcessByStdio<null, null, Readable> = spawn(process.execPath, words, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}`, SGE_ROOT: '', LC_ALL: 'C.UTF-8' },
  });
  let said = '';
  server.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  while (!said.includes('serves ')) {
    await Promise.race([once(server.stderr, 'data'), once(server, 'exit')]);
    if (server.exitCode !== null) throw new Error(`qmemacct serve ended: ${said.trim()}`);
  }
  return {
    port,
    cpuSeconds: () => cpuSecondsOf(server.pid ?? 0),
    calls: () => readFileSync(join(directory, 'asked'), 'utf8').split('\n').length - 1,
    stop: async () => {
      if (server.exitCode !== null) return;
      server.kill('SIGTERM');
      await once(server, 'exit');
    },
  };
}
