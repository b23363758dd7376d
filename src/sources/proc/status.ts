import { readNumber } from './scan';

/** Memory lines of `/proc/PID/status`, in KiB. VmHWM and VmPeak describe the present image only. */
export interface StatusMemory {
  readonly vmPeak: number;
  readonly vmSize: number;
  readonly vmHwm: number;
  readonly vmRss: number;
  readonly rssAnon: number;
  readonly rssFile: number;
  readonly rssShmem: number;
  readonly vmSwap: number;
}

const NEWLINE = 0x0a;
const COLON = 0x3a;

/** The third and fourth letters tell the memory lines apart. As a number, so that no string is made for each line. */
const VM_PEAK = 0x5065; // Pe
const VM_SIZE = 0x5369; // Si
const VM_HWM = 0x4857; // HW
const VM_RSS = 0x5253; // RS
const VM_SWAP = 0x5377; // Sw
const RSS_ANON = 0x7341; // sA
const RSS_FILE = 0x7346; // sF
const RSS_SHMEM = 0x7353; // sS

/**
 * Parses the memory lines in the first `length` bytes of `text`. null: the process has no address space
 * (a zombie, a kernel thread) or its first thread has exited, which takes these lines away.
 * RssAnon and its sisters are 0 before Linux 4.5.
 */
export function parseStatusMemory(text: Buffer, length: number): StatusMemory | null {
  let position = text.indexOf('\nVmPeak:', 0, 'latin1');
  if (position < 0 || position >= length) return null;
  position++;
  const memory = { vmPeak: 0, vmSize: 0, vmHwm: 0, vmRss: 0, rssAnon: 0, rssFile: 0, rssShmem: 0, vmSwap: 0 };
  let complete = false;
  while (position < length) {
    const first = text[position];
    // Vm... and Rss... lines stand together; whatever follows them ends the block.
    if (first !== 0x56 && first !== 0x52) break;
    const key = ((text[position + 2] as number) << 8) | (text[position + 3] as number);
    let colon = position + 4;
    while (colon < length && text[colon] !== COLON) colon++;
    const value = readNumber(text, colon + 1, length);
    switch (key) {
      case VM_PEAK:
        memory.vmPeak = value;
        break;
      case VM_SIZE:
        memory.vmSize = value;
        break;
      case VM_HWM:
        memory.vmHwm = value;
        break;
      case VM_RSS:
        memory.vmRss = value;
        complete = true;
        break;
      case RSS_ANON:
        memory.rssAnon = value;
        break;
      case RSS_FILE:
        memory.rssFile = value;
        break;
      case RSS_SHMEM:
        memory.rssShmem = value;
        break;
      case VM_SWAP:
        memory.vmSwap = value;
        return memory;
      default:
        break;
    }
    while (colon < length && text[colon] !== NEWLINE) colon++;
    position = colon + 1;
  }
  return complete ? memory : null;
}

/** Whether the `Groups:` line in the first `length` bytes of `text` holds `group`. */
export function hasGroup(text: Buffer, length: number, group: number): boolean {
  const line = text.indexOf('\nGroups:', 0, 'latin1');
  if (line < 0 || line >= length) return false;
  let position = line + 8;
  while (position < length && text[position] !== NEWLINE) {
    const byte = text[position] as number;
    if (byte >= 0x30 && byte <= 0x39) {
      if (readNumber(text, position, length) === group) return true;
      while (position < length && (text[position] as number) >= 0x30 && (text[position] as number) <= 0x39) position++;
    } else position++;
  }
  return false;
}

/** Place, from the end of the line, of the hexadecimal digit whose lowest bit is SIGKILL, the ninth signal. */
const KILL_DIGIT = 2;

/** Whether SIGKILL is pending for the process's first thread (`SigPnd`), as for every thread of a killed process. */
export function isBeingKilled(text: Buffer, length: number): boolean {
  const line = text.indexOf('\nSigPnd:', 0, 'latin1');
  if (line < 0 || line >= length) return false;
  const end = text.indexOf(NEWLINE, line + 1);
  if (end < 0 || end > length) return false;
  const digit = end - 1 - KILL_DIGIT;
  return (Number.parseInt(text.toString('latin1', digit, digit + 1), 16) & 1) === 1;
}

/** All numbers of the `Groups:` line; empty when it is missing. */
export function supplementaryGroups(text: Buffer, length: number): readonly number[] {
  const line = text.indexOf('\nGroups:', 0, 'latin1');
  if (line < 0 || line >= length) return [];
  const end = text.indexOf(NEWLINE, line + 1);
  const words = text.toString('latin1', line + 8, end < 0 || end > length ? length : end).split(/\s+/);
  return words.flatMap((word) => (/^\d+$/.test(word) ? Number(word) : []));
}

/** Parent of the process as its status text says; 0 when the line is missing. */
export function parentPid(text: Buffer, length: number): number {
  const line = text.indexOf('\nPPid:', 0, 'latin1');
  return line < 0 || line >= length ? 0 : readNumber(text, line + 6, length);
}

/** Real user id of the `Uid:` line; null when the line is missing. */
export function realUid(text: Buffer, length: number): number | null {
  const line = text.indexOf('\nUid:', 0, 'latin1');
  return line < 0 || line >= length ? null : readNumber(text, line + 5, length);
}
