import { closeSync, constants, openSync, statSync } from 'node:fs';
import { check, library } from './libc';

const cSetns = library.func('int setns(int fd, int type)') as (fd: number, type: number) => number;

const CLONE_NEWNET = 0x40000000;

/** The namespace of the process's main thread, from which this must be called. */
const OWN = '/proc/self/ns/net';

/**
 * Puts the main thread into the network namespace at `path` (a file below /run/netns, /proc/PID/ns/net); does nothing
 * if it is there already. Sockets keep the namespace in which they were opened: call the returned function to go back
 * as soon as they are open, before a child is started. Both functions throw an error of node:fs or LibcError (need
 * CAP_SYS_ADMIN).
 */
export function enterNetworkNamespace(path: string): () => void {
  if (sameFile(path, OWN)) return () => undefined;
  const before = openSync(OWN, constants.O_RDONLY);
  try {
    setNetworkNamespace(path);
  } catch (error) {
    closeSync(before);
    throw error;
  }
  return () => {
    try {
      check('setns back', cSetns(before, CLONE_NEWNET));
    } finally {
      closeSync(before);
    }
  };
}

function setNetworkNamespace(path: string): void {
  // Nonblocking: the path could be a FIFO.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    check(`setns ${path}`, cSetns(fd, CLONE_NEWNET));
  } finally {
    closeSync(fd);
  }
}

function sameFile(path: string, other: string): boolean {
  const [a, b] = [statSync(path, { bigint: true }), statSync(other, { bigint: true })];
  return a.ino === b.ino && a.dev === b.dev;
}
