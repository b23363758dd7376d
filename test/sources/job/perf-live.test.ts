import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openPerf, probePerf, type OpenPerf, type PerfTarget } from '../../../src/sources/job/perf';
import type { PerfReading } from '../../../src/sources/job/perf-metrics';
import { isUnavailable, THIS_MACHINE } from '../../../src/sources/source';
import { burner, burnersObstacle, type BurnerProgram } from '../../burners/build';
import { oneOf } from '../../tries';
import { temporaryDirectory } from '../../support/temporary-directory';

const EVENTS = ['page_faults', 'context_switches', 'cpu_migrations', 'task_clock'];

/** Count of each event; times in seconds. */
type Counts = Readonly<Record<string, number>>;

const countsOf = (readings: readonly PerfReading[]): Counts =>
  Object.fromEntries(readings.map(({ event, value }) => [event, value ?? NaN]));

/** Why events can't be counted on this machine; false: they can. */
function obstacle(): string | false {
  const burners = burnersObstacle();
  if (burners !== null) return burners;
  const probed = probePerf({ ...THIS_MACHINE, options: { events: EVENTS, raw: [] } });
  if (isUnavailable(probed)) return probed.unavailable;
  return probed.refused[0]?.unavailable ?? false;
}

/** Why `perf stat` is no comparison here; null: it is one. */
function perfStatObstacle(): string | null {
  const { status, error, stderr } = spawnSync('perf', ['stat', '-e', 'page-faults', 'true'], { encoding: 'utf8' });
  if (error !== undefined) return `no perf command (Debian: linux-perf): ${error.message}`;
  return status === 0 ? null : `perf stat does not work: ${stderr.trim()}`;
}

/** Prints its pid, waits for a line, runs its arguments as a child, prints the status, waits for another line. */
const PARENT = ['/bin/sh', '-c', 'echo $$; read -r go; "$@"; echo $?; read -r go', 'sh'];

interface Parent {
  readonly pid: number;
  /** Runs the command to its end. */
  readonly run: () => Promise<void>;
  /** Ends the parent itself. */
  readonly end: () => Promise<void>;
}

/** A process that starts a command on request, as the shepherd does. `wrapper` starts the process itself. */
async function parent(
  t: TestContext,
  [name, ...options]: readonly [BurnerProgram, ...string[]],
  wrapper: readonly string[] = [],
): Promise<Parent> {
  const [program = '', ...words] = [...wrapper, ...PARENT, burner(name), ...options];
  const child: ChildProcess = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const { stdin, stdout } = child;
  assert.ok(stdin !== null && stdout !== null);
  const answers = stdout.setEncoding('utf8')[Symbol.asyncIterator]();
  const answer = async (): Promise<number> => Number((await answers.next()).value);
  return {
    pid: await answer(),
    run: async () => {
      stdin.write('\n');
      // The burners' own account comes on the same pipe: the status is the last line.
      let status = NaN;
      for (let text = ''; Number.isNaN(status);) {
        text += String((await answers.next()).value);
        status = Number(/(?:^|\n)(\d+)\n$/.exec(text)?.[1] ?? NaN);
      }
      assert.equal(status, 0);
    },
    end: async () => {
      stdin.end('\n');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

function opened(t: TestContext, target: PerfTarget, events: readonly string[] = EVENTS): OpenPerf {
  const perf = openPerf(target, events, THIS_MACHINE);
  assert.ok(!isUnavailable(perf), isUnavailable(perf) ? perf.unavailable : '');
  t.after(perf.close);
  return perf;
}

/** What `perf stat -x,` wrote: value, unit, event. */
function perfStat(file: string): Counts {
  const counts: Record<string, number> = {};
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [value, unit, event] = line.split(',');
    if (event === undefined) continue;
    const name = (event.split(':')[0] ?? '').replaceAll('-', '_');
    counts[name] = unit === 'msec' ? Number(value) / 1000 : Number(value);
  }
  return counts;
}

/** The target of a link; empty for the descriptor of the listing itself, which has gone by then. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function assertWithin(what: string, value: number | undefined, low: number, high: number): void {
  assert.ok(
    value !== undefined && value >= low && value <= high,
    `${what}: ${value ?? 'none'} is not in [${low}, ${high}]`,
  );
}

const ONE_PERCENT = 0.01;
const assertEqual = (what: string, ours: number | undefined, theirs: number | undefined): void => {
  assert.ok(theirs !== undefined && theirs > 0, `${what}: perf stat has none`);
  assertWithin(what, ours, theirs * (1 - ONE_PERCENT), theirs * (1 + ONE_PERCENT));
};

const skip = obstacle();

describe('software events of a process and its children', { skip }, () => {
  const CHILDREN = 4;
  const options = [`--children=${CHILDREN}`, '--faults=5000', '--switches=300', '--migrations=100', '--seconds=0.1'];

  it('are counted for children that start afterwards, and stay counted when they and the process have gone', async (t) => {
    const { pid, run, end } = await parent(t, ['events', ...options]);
    const perf = opened(t, { pid });
    assert.deepEqual(perf.uncoveredChildren, []);
    assert.deepEqual(countsOf(perf.read()), { page_faults: 0, context_switches: 0, cpu_migrations: 0, task_clock: 0 });
    await run();
    const { page_faults, context_switches, cpu_migrations, task_clock } = countsOf(perf.read());
    // What starting five processes takes comes on top.
    assertWithin('page faults', page_faults, CHILDREN * 5000, CHILDREN * 5000 + 1000);
    assertWithin('context switches', context_switches, CHILDREN * 300, Infinity);
    assertWithin('CPU seconds', task_clock, CHILDREN * 0.1, Infinity);
    if (readFileSync('/sys/devices/system/cpu/online', 'utf8').trim() !== '0')
      assertWithin('migrations', cpu_migrations, CHILDREN * 99, Infinity);
    await end();
    const last = countsOf(perf.read());
    assert.equal(last.page_faults, page_faults);
    assert.equal(last.task_clock, task_clock);
  });

  it('leave out the process itself, unless it belongs to the job', async (t) => {
    const { pid, run } = await parent(t, ['events', '--faults=10']);
    const job = opened(t, { pid });
    const all = opened(t, { pid, includeSelf: true });
    await run();
    const [ours, everything] = [countsOf(job.read()), countsOf(all.read())];
    // The shell waits twice: for the line, and for its child.
    assert.ok((everything.context_switches ?? 0) > (ours.context_switches ?? NaN));
    assert.ok((everything.task_clock ?? 0) > (ours.task_clock ?? NaN));
  });

  it('miss children that started before, and these are listed', async (t) => {
    const child = spawn('/bin/sh', ['-c', 'sleep 60 & echo $!; wait'], { stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => child.kill('SIGKILL'));
    const [text] = (await once(child.stdout, 'data')) as [Buffer];
    t.after(() => process.kill(Number(text.toString()), 'SIGKILL'));
    const perf = opened(t, { pid: child.pid ?? 0 });
    if (perf.uncoveredChildren === null) t.skip('this kernel has no /proc/PID/task/TID/children');
    else assert.deepEqual(perf.uncoveredChildren, [Number(text.toString())]);
  });

  it('can be counted beside an event of a PMU, opened by its own terms', async (t) => {
    // The time-stamp counter is the only event of the CPU's own that a virtual machine without a PMU has.
    const { pid, run } = await parent(t, ['events', '--children=2', '--seconds=0.2']);
    const perf = openPerf({ pid }, ['msr/tsc/', 'task_clock'], THIS_MACHINE);
    assert.ok(!isUnavailable(perf));
    t.after(perf.close);
    if (!perf.events.includes('msr/tsc/')) {
      t.skip(perf.refused[0]?.unavailable ?? '');
      return;
    }
    await run();
    const { 'msr/tsc/': ticks, task_clock } = countsOf(perf.read());
    assert.ok(ticks !== undefined && task_clock !== undefined);
    assertWithin('GHz', ticks / task_clock / 1e9, 0.5, 10);
  });

  it('leave no descriptor behind', async (t) => {
    const { pid } = await parent(t, ['events']);
    const perf = openPerf({ pid }, EVENTS, THIS_MACHINE);
    assert.ok(!isUnavailable(perf));
    const held = (): number =>
      readdirSync('/proc/self/fd').filter((fd) => linkOf(`/proc/self/fd/${fd}`).includes('perf_event')).length;
    assert.equal(held(), perf.descriptors);
    perf.close();
    assert.equal(held(), 0);
  });
});

describe('counts beside those of perf stat', { skip: skip || (perfStatObstacle() ?? false) }, () => {
  const stat = (file: string): readonly string[] => [
    ...['perf', 'stat', '-x', ',', '-o', file],
    ...['-e', 'page-faults,context-switches,cpu-migrations,task-clock', '--'],
  ];

  it('agree within 1 % for every event of one run that both count', async (t) => {
    const file = join(temporaryDirectory(), 'stat');
    const options = ['--children=4', '--faults=10000', '--switches=1000', '--migrations=400', '--seconds=0.4'];
    const { pid, run, end } = await parent(t, ['events', ...options], stat(file));
    const perf = opened(t, { pid });
    await run();
    await end();
    const [ours, theirs] = [countsOf(perf.read()), perfStat(file)];
    t.diagnostic(`ours ${JSON.stringify(ours)}, perf stat ${JSON.stringify(theirs)}`);
    for (const event of EVENTS) assertEqual(event, ours[event], theirs[event]);
  });

  // One run for each, with events that do not depend on what else the machine does.
  for (const [event, command] of [
    ['page_faults', ['steady', '--mib=64', '--hold=10']],
    ['page_faults', ['spike', '--mib=64', '--base=16', '--length=10', '--before=10', '--after=10']],
    ['page_faults', ['many-children', '--children=40', '--mib=4', '--life=1']],
    ['task_clock', ['cpu', '--seconds=2']],
  ] as const) {
    it(`agree within 1 % for ${event} of ${command.join(' ')}, run once for each`, (t) =>
      oneOf(3, async () => {
        const file = join(temporaryDirectory(), 'stat');
        const [name, ...options] = command;
        const { pid, run } = await parent(t, [name, ...options]);
        const perf = opened(t, { pid });
        await run();
        const [program = '', ...words] = [...stat(file), burner(name), ...options];
        assert.equal(spawnSync(program, words, { stdio: 'ignore' }).status, 0);
        const [ours, theirs] = [countsOf(perf.read()), perfStat(file)];
        t.diagnostic(`ours ${ours[event] ?? NaN}, perf stat ${theirs[event] ?? NaN}`);
        assertEqual(event, ours[event], theirs[event]);
      }));
  }
});

describe(
  'openPerf without privilege',
  { skip: skip || (process.getuid?.() === 0 ? false : 'needs root to give it up') },
  () => {
    it('counts user code only, and says so, or says what forbids counting', (t) => {
      const NOBODY = 65534;
      const script = `
      const { openPerf } = require(process.argv[1]);
      const events = ['page_faults', 'context_switches', 'task_clock'];
      const place = { proc: '/proc', sys: '/sys' };
      const own = openPerf({ pid: process.pid, includeSelf: true }, events, place);
      const other = openPerf({ pid: 1 }, events, place);
      const told = 'unavailable' in own ? own : { ...own, readings: own.read() };
      process.stdout.write(JSON.stringify({ own: told, other }));`;
      const module = require.resolve('../../../src/sources/job/perf');
      const options = { encoding: 'utf8', uid: NOBODY, gid: NOBODY, cwd: '/' } as const;
      const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', script, module], options);
      if (status !== 0) {
        t.skip(`another user can't run it: ${stderr.split('\n').find((line) => line.includes('Error')) ?? stderr}`);
        return;
      }
      const { own, other } = JSON.parse(stdout) as Record<'own' | 'other', Record<string, unknown>>;
      assert.match(String(other.unavailable), /^process 1: permission denied \(kernel.perf_event_paranoid is -?\d\)$/);
      const paranoid = Number(readFileSync('/proc/sys/kernel/perf_event_paranoid', 'utf8'));
      if (paranoid > 2) assert.match(String(own.unavailable), /permission denied/);
      else if (paranoid === 2) {
        assert.equal(own.userOnly, true);
        assert.deepEqual(own.events, ['page_faults', 'task_clock']);
      } else assert.equal(own.userOnly, false);
    });
  },
);
