import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isOutboxEmpty } from '../delivery/handed-files';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { inheritedFlags } from '../../base/node-flags';
import { PROGRAM_ENVIRONMENT, programPath } from '../../base/programs';
import { LEFT_MARK } from '../job/run-directory';
import type { Settings } from '../../record/settings';
import { watchDirectory, type DirectoryWatch } from '../job/watch-directory';

/** Pause between two flushes: any user can write into the outbox, and each flush takes in all that is there. */
const PAUSE_MS = 5000;
/** How often a missing directory is looked for. */
const LOOK_AGAIN_MS = 60_000;

interface Place {
  readonly path: string;
  /** Whether this name (null: any name) waits for a flush. */
  readonly waits: (name: string | null) => boolean;
}

function placesOf(settings: Settings): readonly Place[] {
  const runs = [settings.state_dir, settings.run_dir].map((parent): Place => {
    const path = join(parent, 'run');
    return { path, waits: (name) => (name === null || name === LEFT_MARK) && existsSync(join(path, LEFT_MARK)) };
  });
  const outbox = join(settings.state_dir, 'outbox');
  const whole = (name: string): boolean => !name.endsWith('.new') && existsSync(join(outbox, name));
  const handed = {
    path: outbox,
    waits: (name: string | null) => (name === null ? !isOutboxEmpty(outbox) : whole(name)),
  };
  return settings.accept_self_reported ? [...runs, handed] : runs;
}

/**
 * Starts the node's flush when a hook has left a run that it could not finish, or a record: under a job's limits Node
 * may not start, and the next job or the timer may be far away. One flush at a time; records are in the accounting DB
 * within seconds.
 */
export class LeftRuns {
  private readonly watches = new Map<string, DirectoryWatch>();
  private readonly looking: NodeJS.Timeout;
  private pausing: NodeJS.Timeout | null = null;
  private flushing = false;
  /** Something was left since the last flush began. */
  private wanted = false;

  constructor(
    private readonly settings: Settings,
    private readonly settingsPath: string,
  ) {
    this.watchAll();
    this.looking = setInterval(() => this.watchAll(), LOOK_AGAIN_MS).unref();
  }

  /** No further flush is started; one that runs goes on by itself. */
  close(): void {
    clearInterval(this.looking);
    if (this.pausing !== null) clearTimeout(this.pausing);
    for (const watch of this.watches.values()) watch.close();
    this.watches.clear();
    this.wanted = false;
  }

  private watchAll(): void {
    for (const { path, waits } of placesOf(this.settings)) {
      if (this.watches.has(path)) continue;
      const heard = (name: string | null): void => {
        if (waits(name)) this.flushSoon();
      };
      const watch = watchDirectory(path, { heard, gone: () => void this.watches.delete(path) });
      if (watch === null) continue;
      this.watches.set(path, watch);
      heard(null);
    }
  }

  private flushSoon(): void {
    this.wanted = true;
    if (!this.flushing && this.pausing === null) this.flush();
  }

  private flush(): void {
    this.wanted = false;
    this.flushing = true;
    const script = programPath('sampler/flush');
    const child = spawn(process.execPath, [...inheritedFlags(), script, this.settingsPath], {
      cwd: '/',
      detached: true,
      env: PROGRAM_ENVIRONMENT,
      stdio: 'ignore',
    });
    child.on('error', (error) => {
      warn(
        `flush.js could not be started: ${reasonOf(error)}; what the hooks left waits for the next job or the timer`,
      );
      this.rest();
    });
    child.on('exit', () => this.rest());
    child.unref();
  }

  private rest(): void {
    this.flushing = false;
    this.pausing = setTimeout(() => {
      this.pausing = null;
      if (this.wanted) this.flush();
    }, PAUSE_MS).unref();
  }
}
