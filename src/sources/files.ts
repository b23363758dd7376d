import { closeSync, constants, openSync, readlinkSync, readSync, readdirSync, statSync } from 'node:fs';
import { codeOf } from '../base/error-code';
import { MIB } from '../base/units';
import { opened, unavailable, type OpenSource, type Reading, type Unavailable } from './source';

const MOST_BYTES = 4 * MIB;
const FIRST_BYTES = 16 * 1024;

/**
 * Content of a file below /proc or /sys; null when it isn't there, can't be read, or has more than 4 MiB.
 * Such files show no usable size, so it is read until its end.
 */
export function readBytes(path: string): Buffer | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    let buffer = Buffer.allocUnsafe(FIRST_BYTES);
    let length = 0;
    for (;;) {
      const got = readSync(fd, buffer, length, buffer.length - length, null);
      if (got === 0) return buffer.subarray(0, length);
      length += got;
      if (length < buffer.length) continue;
      if (length >= MOST_BYTES) return null;
      buffer = Buffer.concat([buffer], buffer.length * 4);
    }
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

/** Like readBytes, as text. */
export function readText(path: string): string | null {
  return readBytes(path)?.toString('utf8') ?? null;
}

/** When a file was last changed (ms since the epoch); null: it is not there, or can't be looked at. */
export function changedMs(path: string): number | null {
  try {
    return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null;
  } catch {
    return null;
  }
}

/** A file that holds one decimal number (sysfs); null: absent, unreadable or something else. */
export function readInteger(path: string): number | null {
  const text = readText(path)?.trim();
  return text !== undefined && /^-?\d{1,20}$/.test(text) ? Number(text) : null;
}

/** As readInteger; null for a number below 0, too. */
export function readNatural(path: string): number | null {
  const number = readInteger(path);
  return number === null || number < 0 ? null : number;
}

/** Names in a directory, sorted; empty when it can't be listed. */
export function listNames(path: string): readonly string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}

/** Where a symbolic link leads; null: it can't be read. */
export function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** Why a file can't be read, for the reader of `doctor`. */
export function whyUnreadable(path: string): Unavailable {
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    return unavailable(`${path} holds nothing usable`);
  } catch (error) {
    const code = codeOf(error) || 'unknown error';
    if (code === 'ENOENT' || code === 'ENOTDIR') return unavailable(`no ${path}`);
    if (code === 'EACCES' || code === 'EPERM')
      return unavailable(`${path}: permission denied`, 'run the hooks as root (root@ in the prolog)');
    return unavailable(`${path}: ${code}`);
  }
}

/** An open source that reads one text file and keeps nothing open; `parse` as `read` of `opened`. */
export const openedFile = (
  path: string,
  parse: (text: string) => readonly Reading[] | null,
): OpenSource | Unavailable =>
  opened(
    () => parse(readText(path) ?? ''),
    () => whyUnreadable(path),
  );
