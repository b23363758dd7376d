import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { temporaryDirectory } from '../support/temporary-directory';
import { PATIENCE_MS, until } from '../support/until';

const SHELLS = ['/bin/dash', '/bin/bash'].filter((shell) => existsSync(shell));
const COMMON = join(packageRoot(), 'hooks', 'common.sh');

/** Writes each signal that the hook sends: whether its target is a child of the hook, another process or gone. */
const WATCHED = `
exec 9>&2
. "$1"
kill() {
  target=gone
  { read -r line <"/proc/$2/stat"; } 2>/dev/null && case "\${line##*) }" in
  ?" $$ "*) target=child ;;
  *) target=other ;;
  esac
  echo "$target $*" >&9
  command kill "$@"
}
`;

function isSleeper(pid: string, seconds: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `sleep\0${seconds}\0`;
  } catch {
    // It has just ended.
    return false;
  }
}

interface Run {
  readonly stdout: string;
  readonly signals: readonly string[];
}

function run(shell: string, script: string): Run {
  const { stdout, stderr, status } = spawnSync(shell, ['-c', `${WATCHED}${script}`, 'sh', COMMON], {
    encoding: 'utf8',
    timeout: PATIENCE_MS,
  });
  assert.equal(status, 0, stderr);
  return { stdout, signals: stderr.split('\n').filter((line) => /^(child|other|gone) /.test(line)) };
}

describe('the time limit on a hook’s command', () => {
  for (const shell of SHELLS) {
    it(`kills nothing, and signals no pid that is free again, when the command ends in time (${shell})`, () => {
      const { stdout, signals } = run(shell, 'qm_bounded 20 true; echo "$?"; qm_bounded 20 false; echo "$?"');
      assert.equal(stdout, '0\n1\n');
      assert.deepEqual(
        signals.filter((line) => line.startsWith('gone') || line.startsWith('child -KILL')),
        [],
      );
    });

    it(`kills a command that takes longer, and lets the hook go on (${shell})`, () => {
      const script = `
        qm_bounded 1 sleep 300
        [ $? -gt 128 ] && echo late
        # On a busy machine a killed process takes a while to end.
        tries=0
        while [ "$tries" -lt 300 ]; do
          { read -r line <"/proc/$qm_work/stat"; } 2>/dev/null || line=gone
          case $line in gone | *') Z '*) echo ended && break ;; esac
          sleep 0.1
          tries=$((tries + 1))
        done
        qm_bounded 20 true && echo again`;
      const { stdout, signals } = run(shell, script);
      assert.equal(stdout, 'late\nended\nagain\n');
      assert.equal(signals.filter((line) => line.startsWith('child -KILL')).length, 1);
      // TERM to the watcher may come too late: it ends by itself now, and the shell may have waited for it already.
      assert.deepEqual(
        signals.filter((line) => line.startsWith('gone') && !line.startsWith('gone -TERM')),
        [],
      );
    });

    it(`leaves no sleeping watcher behind, however soon the command ends (${shell})`, async (t) => {
      const seconds = `4000${process.pid}`;
      const script = 'tries=0; while [ "$tries" -lt 100 ]; do qm_bounded "$2" true; tries=$((tries + 1)); done';
      const { status, stderr } = spawnSync(shell, ['-c', `. "$1"\n${script}`, 'sh', COMMON, seconds], {
        encoding: 'utf8',
        timeout: PATIENCE_MS,
      });
      assert.equal(status, 0, stderr);
      const sleepers = (): readonly string[] =>
        readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isSleeper(pid, seconds));
      t.after(() => sleepers().forEach((pid) => process.kill(Number(pid), 'SIGKILL')));
      // On a busy machine the last one ends a moment after its signal. A watcher left behind would sleep for hours.
      await until(() => sleepers().length === 0, 'the end of the watchers');
    });

    it(`lets what the command leaves behind outlive the hook's terminal (${shell})`, async () => {
      const left = join(temporaryDirectory(), 'left');
      const script = '. "$1"; left=$2; leave() { (sleep 1; : >"$left") & }; qm_bounded 20 leave';
      const words = ['exec', shell, '-c', `'${script}'`, 'sh', COMMON, left].join(' ');
      const { status, stdout } = spawnSync('script', ['-qec', words, '/dev/null'], { encoding: 'utf8' });
      assert.equal(status, 0, stdout);
      await until(() => existsSync(left), 'the command that was left behind');
    });

    it(`is enforced without a signal to a foreign process or to a child that has been waited for (${shell})`, () => {
      const script = `
        (exit 0) & child=$!
        wait "$child"
        qm_signal TERM "$child"; qm_signal KILL 1; qm_signal KILL "$PPID"; qm_signal KILL ''
        sleep 300 & child=$!
        qm_signal KILL "$child"
        wait "$child"; echo "$?"`;
      const { stdout, signals } = run(shell, script);
      assert.equal(stdout, '137\n');
      assert.equal(signals.length, 1);
    });
  }
});
