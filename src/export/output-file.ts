import { closeSync, fsyncSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { requireOwnPath } from '../base/trusted-path';
import { UserError } from '../base/user-error';

/** An output that can't be written. */
export class OutputError extends UserError {
  constructor(path: string, problem: string, hint: string, cause?: unknown) {
    super(`${path}: ${problem}`, { hint, cause });
  }
}

const NO_ROOM = ['ENOSPC', 'EDQUOT'];
const NO_DIRECTORY = ['ENOENT', 'ENOTDIR'];
const DENIED = ['EACCES', 'EPERM', 'EROFS'];

function outputError(path: string, error: unknown): OutputError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const made = (problem: string, hint: string): OutputError => new OutputError(path, problem, hint, error);
  if (NO_ROOM.includes(code)) return made('no room is left there', 'nothing was kept; make room or name another place');
  if (NO_DIRECTORY.includes(code)) return made(`there is no directory ${dirname(path)}`, 'create it or name another');
  if (DENIED.includes(code)) return made(`you may not write to ${dirname(path)}`, 'name another place');
  return made(message, 'name another place');
}

/**
 * A file that gets its name only when it is complete: until then its bytes are in a hidden file beside it. Readable by
 * its owner only, since it may contain more than others may see. Methods throw OutputError.
 */
export class OutputFile {
  private readonly part: string;
  private readonly fd: number;

  constructor(readonly path: string) {
    const own = `${process.pid}.${Math.random().toString(36).slice(2)}`;
    this.part = join(dirname(path), `.${basename(path)}.${own}.part`);
    let isOther: boolean;
    try {
      isOther = lstatSync(path, { throwIfNoEntry: false })?.isFile() === false;
      this.fd = isOther ? -1 : openSync(this.part, 'wx', 0o600);
    } catch (error) {
      throw outputError(path, error);
    }
    if (isOther) throw new OutputError(path, 'it is not a regular file', 'name a file, or "-" for the standard output');
  }

  /**
   * The hidden file that holds its bytes until it is complete, for a library that opens it by its path. Throws
   * UntrustedError if that could lead root elsewhere.
   */
  get temporary(): string {
    requireOwnPath(resolve(this.part), this.path);
    return this.part;
  }

  write(bytes: Uint8Array): void {
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.fd, bytes, at);
    } catch (error) {
      throw outputError(this.path, error);
    }
  }

  /** Turns an error of a step on this file into an OutputError. */
  failed(error: unknown): OutputError {
    return outputError(this.path, error);
  }

  /** Gives the file its name, replacing an older file. */
  finish(): void {
    try {
      fsyncSync(this.fd);
      renameSync(this.part, this.path);
    } catch (error) {
      throw outputError(this.path, error);
    }
  }

  /** To be called in the end, whatever happened: an unfinished file is removed. */
  close(): void {
    closeSync(this.fd);
    rmSync(this.part, { force: true });
  }
}
