import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../base/monotonic';
import { ProcessFiles } from '../../sources/proc/process-files';
import { unavailable, type Reading, type Unavailable } from '../../sources/source';
import { inheritedFlags } from '../../base/node-flags';
import { programPath } from '../../base/programs';
import { HelperProcess, type Failed, type Outcome } from './helper-process';

export interface HelperOptions {
  readonly settingsPath: string;
  /** Deadline for a source's answer, or for each process that it is asked about. */
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
  /** Pid of the present helper process; null: none. */
  readonly pid: number | null;
  readonly started: number;
  /** Processes that were given up and have not ended yet; those that stay hang in the kernel. */
  readonly abandoned: number;
}

const IDLE_MS = 60_000;
/** Each process that hangs in the kernel holds some 10 to 20 MiB of its own, and nothing gets rid of it. */
const MOST_ABANDONED = 4;
/** Most requests that wait for one another; a caller asks a source again only after its answer. */
const MOST_WAITING = 64;
const CLOSE_MS = 1000;
/** Older failures are forgotten: nobody asks about those processes any more. */
const REMEMBER_MS = 3_600_000;

/** A source that keeps failing to answer: how often in a row, and until when it is not asked again. */
export interface PutOff {
  readonly failures: number;
  readonly untilMs: number;
}

const FAILURES_BORNE = 3;
const FIRST_MS = 30_000;
const LONGEST_MS = 600_000;

/** After one more failure: the third in a row puts it off for 30 s, and each further one for twice as long, up to 10 min. */
export function putOff(before: PutOff | undefined, nowMs: number): PutOff {
  const failures = (before?.failures ?? 0) + 1;
  const doublings = failures - FAILURES_BORNE;
  return { failures, untilMs: doublings < 0 ? nowMs : nowMs + Math.min(LONGEST_MS, FIRST_MS * 2 ** doublings) };
}

const isFailed = (outcome: Outcome): outcome is Failed => 'failed' in outcome;

/** A helper process that is started when it is first needed, and replaced when it hangs. */
export class Helper {
  private readonly options: HelperOptions;
  private readonly now: () => number;
  /** By source and the first pid that it was asked about: one job's failures must not cost other jobs their figures. */
  private readonly failures = new Map<string, PutOff>();
  /** Start time, by pid, of processes that the helper hung at. */
  private readonly stuck = new Map<number, number>();
  private running: HelperProcess | null = null;
  private idle: NodeJS.Timeout | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private waiting = 0;
  private requests = 0;
  private started = 0;
  private abandoned = 0;
  private closed = false;

  constructor(options: HelperOptions) {
    this.options = options;
    this.now = options.now ?? monotonicMs;
  }

  /** Values of a source, read in the helper process; requests wait for one another. Never rejects. */
  read(source: string, pids?: readonly number[]): Promise<readonly Reading[] | Unavailable> {
    if (this.waiting >= MOST_WAITING)
      return Promise.resolve(unavailable(`${this.waiting} readings before this one are not over`));
    this.waiting++;
    const answer = this.last.then(() => this.ask(source, pids)).finally(() => this.waiting--);
    this.last = answer;
    return answer;
  }

  state(): HelperState {
    return { pid: this.running?.pid ?? null, started: this.started, abandoned: this.abandoned };
  }

  /** Ends the process; what still waits is answered. Resolves when it has ended, after 1 s at the latest. */
  async close(): Promise<void> {
    this.closed = true;
    this.stayAwake();
    const ending = this.running;
    if (ending === null) return;
    ending.end();
    const late = new AbortController();
    await Promise.race([ending.ended, sleep(CLOSE_MS, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
    ending.kill();
    await this.last;
  }

  private async ask(source: string, pids: readonly number[] | undefined): Promise<readonly Reading[] | Unavailable> {
    if (this.closed) return unavailable('the sampler is ending');
    const asking = pids === undefined ? source : `${source} of ${pids[0] ?? 'none'}`;
    const obstacle = this.obstacle(asking);
    if (obstacle !== null) return obstacle;
    this.stayAwake();
    const helper = this.process();
    const asked = pids?.filter((pid) => !this.isStuck(pid));
    const request = { id: ++this.requests, source, ...(asked === undefined ? {} : { pids: asked }) };
    const outcome = await helper.ask(request, this.options.deadlineMs(source));
    if (isFailed(outcome)) return this.failed(helper, asking, outcome);
    this.failures.delete(asking);
    this.idle = setTimeout(() => this.endIdle(), this.options.idleMs ?? IDLE_MS);
    return outcome;
  }

  /** Why the helper can't be asked now; null: it can. */
  private obstacle(asking: string): Unavailable | null {
    const { failures = 0, untilMs = 0 } = this.failures.get(asking) ?? {};
    const left = untilMs - this.now();
    if (left > 0)
      return unavailable(
        `no answer ${failures} times in a row; tried again in ${Math.ceil(left / 1000)} s`,
        'check its device or file system',
      );
    if (this.running === null && this.abandoned >= MOST_ABANDONED)
      return unavailable(
        `${this.abandoned} helper processes hang in the kernel and can't be killed; no more are started until one ends`,
        'see what they wait for: /proc/PID/stack and /proc/PID/wchan',
      );
    return null;
  }

  private process(): HelperProcess {
    if (this.running !== null) return this.running;
    const {
      settingsPath,
      nodeOptions = inheritedFlags(),
      script = programPath('sampler/helper/helper-main'),
    } = this.options;
    this.started++;
    const fresh = new HelperProcess({ script, settingsPath, nodeOptions });
    this.running = fresh;
    // If it is ended from outside while it is idle, that is no source's failure.
    void fresh.ended.then(() => {
      if (this.running === fresh) this.running = null;
    });
    return fresh;
  }

  private failed(helper: HelperProcess, asking: string, { failed, how, at }: Failed): Unavailable {
    this.running = null;
    this.abandon(helper);
    for (const [other, { untilMs }] of this.failures)
      if (this.now() - untilMs > REMEMBER_MS) this.failures.delete(other);
    this.failures.set(asking, putOff(this.failures.get(asking), this.now()));
    if (failed === 'late' && at !== null) {
      this.leaveOut(at);
      return unavailable(`process ${at} ${how} and is left out from now on`);
    }
    return unavailable(failed === 'late' ? how : `the helper process ${how}`);
  }

  private stayAwake(): void {
    if (this.idle !== null) clearTimeout(this.idle);
    this.idle = null;
  }

  private endIdle(): void {
    const ending = this.running;
    this.running = null;
    if (ending === null) return;
    this.abandon(ending);
    ending.end();
  }

  private abandon(helper: HelperProcess): void {
    this.abandoned++;
    void helper.ended.then(() => this.abandoned--);
  }

  private startTicks(pid: number): number | null {
    return new ProcessFiles(pid, { left: 0 }, this.options.procRoot).stat()?.startTicks ?? null;
  }

  /** Whether the helper hung at this process; a pid that now names another process is forgotten. */
  private isStuck(pid: number): boolean {
    const known = this.stuck.get(pid);
    if (known === undefined) return false;
    if (this.startTicks(pid) === known) return true;
    this.stuck.delete(pid);
    return false;
  }

  private leaveOut(pid: number): void {
    for (const other of [...this.stuck.keys()]) this.isStuck(other);
    const ticks = this.startTicks(pid);
    if (ticks !== null) this.stuck.set(pid, ticks);
  }
}
