import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { replay } from './replay';
import { until } from '../../support/until';

const program = join(__dirname, 'watch-program.js');

interface Session {
  /** Everything written to the terminal so far. */
  readonly output: () => string;
  readonly type: (keys: string) => void;
  /** Waits until the screen, as a person sees it, matches; its lines. */
  readonly sees: (what: RegExp) => Promise<readonly string[]>;
  /** Waits until the text written to the terminal matches. */
  readonly prints: (what: RegExp) => Promise<unknown>;
  /** The device of the pseudo terminal and the pid of the program. */
  readonly place: () => Promise<{ readonly tty: string; readonly pid: number }>;
  readonly resize: (columns: number, rows: number) => Promise<void>;
  readonly ended: Promise<unknown>;
}

const started = new Set<ChildProcess>();

// When script ends, it hangs up its terminal, which ends the program there.
afterEach(() => {
  for (const child of started) child.kill();
  started.clear();
});

/**
 * The program under a pseudo terminal of 100 x 20, made by script(1). After its end the shell prints its status and the
 * settings of the terminal.
 */
function start(
  words: string,
  {
    env = {},
    jobControl = false,
  }: { readonly env?: Readonly<Record<string, string>>; readonly jobControl?: boolean } = {},
): Session {
  const command = [
    ...(jobControl ? ['set -m'] : []),
    'stty cols 100 rows 20',
    `echo "tty=$(tty)"`,
    `sh -c 'echo "pid=$$"; exec "${process.execPath}" "${program}" ${words}'`,
    ...(jobControl ? ['echo "stopped=$?"', 'stty -a', 'fg'] : []),
    'echo "status=$?"',
    'stty -a',
  ].join('; ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm', LANG: 'C.UTF-8', LC_ALL: '', NO_COLOR: '', SHELL: '/bin/sh', ...env },
  });
  started.add(child);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  let size = { columns: 100, rows: 20 };
  const seen = <T>(look: () => T | null): Promise<T> =>
    until(look, () => `the screen does not match:\n${replay(text, size).join('\n')}`);
  const place = async (): Promise<{ readonly tty: string; readonly pid: number }> => {
    const [, tty = '', pid = ''] = await seen(() => /tty=(\S+)[^]*pid=(\d+)/.exec(text));
    return { tty, pid: Number(pid) };
  };
  return {
    output: () => text,
    type: (keys) => void child.stdin.write(keys),
    place,
    prints: (what) => seen(() => what.exec(text)),
    sees: (what) =>
      seen(() => {
        const lines = replay(text, size);
        return what.test(lines.join('\n')) ? lines : null;
      }),
    resize: async (columns, rows) => {
      size = { columns, rows };
      execFileSync('stty', ['-F', (await place()).tty, 'cols', String(columns), 'rows', String(rows)]);
    },
    ended: new Promise((resolve) => child.on('close', resolve)),
  };
}

/** Asserts that the terminal is as before: cursor shown, lines wrapped, normal screen, echo, line editing. */
async function assertRestored(session: Session, status: number): Promise<void> {
  await session.sees(new RegExp(`status=${status}\n`));
  await session.ended;
  const text = session.output();
  const last = (code: string): number => text.lastIndexOf(`\u001b[?${code}`);
  assert.ok(last('1049l') > last('1049h'), 'alternate screen left');
  assert.ok(last('25h') > last('25l'), 'cursor shown');
  assert.ok(last('7h') > last('7l'), 'lines wrapped');
  const settings = text.slice(text.lastIndexOf('status='));
  assert.match(settings, /\secho\s/);
  assert.match(settings, /\sicanon\s/);
  assert.match(settings, /\sisig\s/);
}

describe('qmemacct live --watch on a terminal', () => {
  it('shows jobs, obeys keys, follows a change of size, and restores the terminal', async () => {
    const session = start('live --watch 1');
    const first = await session.sees(/12 running · by share[^]*serial[^]*q quit/);
    assert.match(first[1] ?? '', /^job +owner +name /);
    assert.equal(first.length, 20);

    session.type('s');
    await session.sees(/by risk/);
    session.type('oB');
    await session.sees(/owner: B_/);
    session.type('\u007fb*\r');
    const filtered = await session.sees(/2 of 12 running · by risk · owner b\*/);
    assert.match(filtered.join('\n'), /mpi[^]*solver|solver[^]*mpi/);
    session.type('c');
    await session.sees(/12 running/);

    await session.resize(60, 8);
    const small = await session.sees(/12 running · by risk[^]*q quit/);
    assert.equal(small.length, 8);
    assert.ok(small.every((line) => line.length <= 60));
    await session.sees(/1-5 of 12/);
    session.type('\u001b[B');
    await session.sees(/2-6 of 12/);
    await session.resize(37, 4);
    await session.sees(/12 running/);
    await session.resize(120, 30);

    session.type('\t');
    await session.sees(/2 waiting/);
    session.type('\tu');
    await session.sees(/4 hosts[^]*master +103/);
    session.type('?');
    await session.sees(/quit[^]*reverse the order/);
    session.type('q');
    await assertRestored(session, 0);
  });

  it('restores the terminal on SIGTERM, SIGINT and SIGHUP', async () => {
    for (const [signal, status] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
      ['SIGHUP', 129],
    ] as const) {
      const session = start('hosts --watch');
      await session.sees(/4 hosts/);
      process.kill((await session.place()).pid, signal);
      await assertRestored(session, status);
    }
  });

  it('stops on Ctrl-Z with the terminal restored, draws again when it is resumed, and ends on Ctrl-C', async () => {
    const session = start('hosts --watch', { jobControl: true });
    await session.sees(/4 hosts/);
    session.type('\u001a');
    // The shell prints the status of the stopped job and the settings of the terminal, and brings the job back.
    // eslint-disable-next-line no-control-regex -- the alternate screen again
    await session.prints(/stopped=1\d\d[^]*\sicanon\s[^]*\u001b\[\?1049h/);
    await session.sees(/4 hosts[^]*q quit/);
    session.type('\u0003');
    await assertRestored(session, 0);
  });

  it('restores the terminal when it fails, and says why', async () => {
    const session = start('live --watch', { env: { PROBLEM: 'the sky has fallen' } });
    await assertRestored(session, 3);
    const after = session.output().slice(session.output().lastIndexOf('\u001b[?1049l'));
    assert.match(after, /qmemacct: the sky has fallen/);
  });
});
