import { closeSync, statSync, write } from 'node:fs';
import { openOutput } from '../../base/trusted-path';
import { MIB } from '../../base/units';
import { CommandError, EXIT, usageError } from '../command';

/** Where rows are written to. Neither waits nor throws if the file is slow, full or closed. */
interface RowSink {
  readonly write: (text: string) => void;
  /** Resolves when all accepted rows are written or given up, to the problem; null: none. */
  readonly end: () => Promise<string | null>;
}

/** While more than this many characters wait to be written, further rows are left out. */
const MOST_WAITING = 4 * MIB;
const TRY_AGAIN_MS = 50;
const STANDARD_OUTPUT = 1;

function openFile(option: string, path: string): number {
  try {
    const known = statSync(path, { throwIfNoEntry: false });
    if (known?.isFile() && (known.mode & 0o111) !== 0)
      throw usageError(`${option} ${path}: that is a program, not a file for rows; the command goes after "--"`);
    return openOutput(path);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${option} ${path}: ${(error as Error).message}; give another file`, EXIT.unavailable);
  }
}

/** Opens a file, or with "-" the standard output. Throws CommandError. */
export function openRowSink(option: string, path: string): RowSink {
  const fd = path === '-' ? STANDARD_OUTPUT : openFile(option, path);
  let waiting = '';
  let left = 0;
  let problem: string | null = null;
  let closed = false;
  let busy = false;
  let idle: (() => void) | null = null;

  function done(): void {
    busy = false;
    idle?.();
  }
  // Not process.stdout, which writes to a pipe synchronously: a full pipe would keep us from passing on signals.
  function pass(bytes: Buffer): void {
    write(fd, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => pass(bytes), TRY_AGAIN_MS);
      else if (error !== null) {
        closed = true;
        waiting = '';
        // A reader that stops early (`| head`) is no error.
        if (error.code !== 'EPIPE') problem = error.message;
        done();
      } else if (written < bytes.length) pass(bytes.subarray(written));
      else next();
    });
  }
  function next(): void {
    if (waiting === '') {
      done();
      return;
    }
    const bytes = Buffer.from(waiting);
    waiting = '';
    pass(bytes);
  }

  return {
    write: (text) => {
      if (closed) return;
      if (waiting.length > MOST_WAITING) {
        left += 1;
        return;
      }
      waiting += text;
      if (busy) return;
      busy = true;
      next();
    },
    end: async () => {
      if (busy) await new Promise<void>((resolve) => (idle = resolve));
      if (fd !== STANDARD_OUTPUT) closeSync(fd);
      if (problem !== null) return `${option} ${path}: ${problem}; the rows from then on are missing`;
      return left > 0 ? `${option} ${path}: too slow; ${left} rows were left out` : null;
    },
  };
}
