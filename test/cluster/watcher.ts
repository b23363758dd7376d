import { spawn } from 'node:child_process';
import { replay } from '../cli/watch/replay';
import type { Cell } from './cell';
import { until } from '../support/until';

/** A command that runs at a terminal of 120 x 24. */
export interface Watcher {
  /** The screen as it is now. */
  readonly screen: () => readonly string[];
  /** The first screen that is as wanted. */
  readonly awaitScreen: (what: string, wanted: (lines: readonly string[]) => boolean) => Promise<readonly string[]>;
  readonly type: (keys: string) => void;
  /** Everything that the terminal was sent, when the command has ended. */
  readonly ended: () => Promise<string>;
  readonly kill: () => void;
}

const SIZE = { columns: 120, rows: 24 };

/**
 * Starts a command on a host as this user, under a pseudo terminal. Around its output are lines with the terminal's
 * settings before and after (`before=`, `after=`, from `stty -g`) and its exit status (`status=0`).
 */
export function watchAs(cell: Cell, host: string, user: string, words: readonly string[]): Watcher {
  const script = [
    `stty cols ${SIZE.columns} rows ${SIZE.rows}`,
    'echo "before=$(stty -g)"',
    words.join(' '),
    'echo "status=$?"',
    'echo "after=$(stty -g)"',
  ].join('; ');
  const { argv, env } = cell.command(host, ['script', '-qec', script, '/dev/null'], {
    user,
    env: { TERM: 'xterm', SHELL: '/bin/sh', NO_COLOR: '1' },
  });
  const child = spawn(argv[0] ?? '', argv.slice(1), { env, cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  let over = false;
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  child.stdin.on('error', () => undefined);
  child.on('close', () => (over = true));
  const screen = (): readonly string[] => replay(text, SIZE);
  return {
    screen,
    awaitScreen: (what, wanted) =>
      until(
        () => {
          const lines = screen();
          return wanted(lines) ? lines : null;
        },
        () => `${what} on the screen of ${user}:\n${screen().join('\n')}`,
        100,
      ),
    type: (keys) => void child.stdin.write(keys),
    ended: async () => {
      await until(
        () => over,
        () => `the end of ${words.join(' ')}:\n${screen().join('\n')}`,
      );
      return text;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
