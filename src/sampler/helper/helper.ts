import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openProcess } from '../../sources/proc/process-files';
import { unavailable, type Reading, type Unavailable } from '../../sources/source';
import { inheritedFlags } from '../../base/node-flags';
import { startHelperProcess, type Failed, type HelperProcess } from './helper-process';
import { putOff, type PutOff } from './put-off';

export interface HelperOptions {
  readonly settingsPath: string;
  /** For one answer of a source, or for one process of those that it is asked about. */
  readonly deadlineMs: (source: string) => number;
  /** A helper that nobody has asked for so long ends, and gives its memory back. */
  readonly idleMs?: number;
  /** Node's options for it: those of this process unless given. */
  readonly nodeOptions?: readonly string[];
  readonly script?: string;
  /** ms of a clock that never goes back. */
  readonly now?: () => number;
  readonly procRoot?: string;
}

interface HelperState {
  /** Of the process that lives now. */
  readonly pid: number | null;
  readonly started: number;
  /** Killed, and not dead yet: they hang in the kernel. */
  readonly abandoned: number;
}

export interface Helper {
  /** Values of a source, read in the helper process; requests wait for one another. Never rejects. */
  readonly read: (source: string, pids?: readonly number[]) => Promise<readonly Reading[] | Unavailable>;
  /** How many of these processes are not read any more, because one reading of them has not come to an end. */
  readonly leftOut: (pids: readonly number[]) => number;
  readonly state: () => HelperState;
  /** Ends the process; what still waits is answered. Resolves when it has ended, after 1 s at the latest. */
  readonly close: () => Promise<void>;
}

const IDLE_MS = 60_000;
/** Each process that hangs in the kernel holds some 10 to 20 MiB of its own, and nothing gets rid of it. */
const MOST_ABANDONED = 4;
/** A request waits for those before it; the caller asks each source anew only after its answer. */
const MOST_WAITING = 64;
const CLOSE_MS = 1000;
/** Failures of processes that nobody asks about any more. */
const REMEMBER_MS = 3_600_000;

const isFailed = (outcome: readonly Reading[] | Unavailable | Failed): outcome is Failed => 'failed' in outcome;

/** A helper process that is there when it is needed, and replaced when it hangs. Nothing is started yet. */
export function startHelper(options: HelperOptions): Helper {
  const { settingsPath, deadlineMs, idleMs = IDLE_MS, nodeOptions = inheritedFlags(), procRoot } = options;
  const script = options.script ?? join(__dirname, 'helper-main.js');
  const now = options.now ?? ((): number => performance.now());
  /** By source, and by the first of the processes that it was asked about: one job's cost no other job its figures. */
  const failures = new Map<string, PutOff>();
  /** Start time, by pid, of processes that the helper hung at. */
  const stuck = new Map<number, number>();
  let running: HelperProcess | null = null;
  let idle: NodeJS.Timeout | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let requests = 0;
  let started = 0;
  let abandoned = 0;
  let closed = false;

  const startTicks = (pid: number): number | null => openProcess(pid, { left: 0 }, procRoot).stat()?.startTicks ?? null;

  /** A pid that names another process now is free again. */
  function isStuck(pid: number): boolean {
    const known = stuck.get(pid);
    if (known === undefined) return false;
    if (startTicks(pid) === known) return true;
    stuck.delete(pid);
    return false;
  }

  function holdAgainst(pid: number): void {
    for (const other of [...stuck.keys()]) isStuck(other);
    const ticks = startTicks(pid);
    if (ticks !== null) stuck.set(pid, ticks);
  }

  function forgetOld(): void {
    for (const [asking, { untilMs }] of failures) if (now() - untilMs > REMEMBER_MS) failures.delete(asking);
  }

  function endIdle(): void {
    const ending = running;
    running = null;
    if (ending !== null) abandon(ending, 'end');
  }

  function abandon(process: HelperProcess, how: 'end' | 'killed'): void {
    abandoned++;
    if (how === 'end') process.end();
    void process.ended.then(() => abandoned--);
  }

  async function ask(source: string, pids: readonly number[] | undefined): Promise<readonly Reading[] | Unavailable> {
    if (closed) return unavailable('the sampler is ending');
    const asking = pids === undefined ? source : `${source} of ${pids[0] ?? 'none'}`;
    const before = failures.get(asking);
    const left = (before?.untilMs ?? 0) - now();
    if (before !== undefined && left > 0)
      return unavailable(
        `no answer ${before.failures} times in a row; tried again in ${Math.ceil(left / 1000)} s`,
        'see what its device or file system hangs at',
      );
    if (running === null && abandoned >= MOST_ABANDONED)
      return unavailable(
        `${abandoned} helper processes hang in the kernel and can't be killed; no more are started until one ends`,
        'see what they wait for: /proc/PID/stack and /proc/PID/wchan',
      );
    if (idle !== null) clearTimeout(idle);
    idle = null;
    if (running === null) {
      started++;
      const fresh = startHelperProcess({ script, settingsPath, nodeOptions });
      running = fresh;
      // One that was ended from outside while it was idle is no source's fault.
      void fresh.ended.then(() => {
        if (running === fresh) running = null;
      });
    }
    const helper = running;
    const asked = pids?.filter((pid) => !isStuck(pid));
    const request = { id: ++requests, source, ...(asked === undefined ? {} : { pids: asked }) };
    const outcome = await helper.ask(request, deadlineMs(source));
    if (!isFailed(outcome)) {
      failures.delete(asking);
      idle = setTimeout(endIdle, idleMs);
      return outcome;
    }
    running = null;
    abandon(helper, 'killed');
    forgetOld();
    failures.set(asking, putOff(before, now()));
    if (outcome.failed === 'late' && outcome.at !== null) {
      holdAgainst(outcome.at);
      return unavailable(`process ${outcome.at} ${outcome.how} and is left out from now on`);
    }
    return unavailable(outcome.failed === 'late' ? outcome.how : `the helper process ${outcome.how}`);
  }

  return {
    read: (source, pids) => {
      if (waiting >= MOST_WAITING)
        return Promise.resolve(unavailable(`${waiting} readings before this one are not over`));
      waiting++;
      const answer = last.then(() => ask(source, pids)).finally(() => waiting--);
      last = answer;
      return answer;
    },
    leftOut: (pids) => pids.filter(isStuck).length,
    state: () => ({ pid: running?.pid ?? null, started, abandoned }),
    close: async () => {
      closed = true;
      if (idle !== null) clearTimeout(idle);
      idle = null;
      const ending = running;
      if (ending === null) return;
      ending.end();
      const late = new AbortController();
      await Promise.race([ending.ended, sleep(CLOSE_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
      late.abort();
      ending.kill();
      await last;
    },
  };
}
