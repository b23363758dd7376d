import { closeSync, futimesSync, openSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { tryLock } from '../native/libc';
import { handedLock } from './delivery/handed-process';
import { takeHandedRecords, type HandedPass } from './delivery/handed-records';
import { reasonOf } from '../base/log';
import { NodeStore } from './node-store/node-store';
import type { Settings } from '../record/settings';

/**
 * `node handed-main.js`, settings as JSON on standard input: one pass over what users have handed in, in a process of its
 * own, so that nobody's files hold up the sampling of anybody's jobs. Prints a HandedPass as JSON.
 */
function pass(settings: Settings): HandedPass {
  const lock = openSync(handedLock(settings), 'a', 0o600);
  try {
    if (!tryLock(lock)) return { taken: 0, problems: [] };
    futimesSync(lock, new Date(), new Date());
    const store = new NodeStore(settings.state_dir);
    try {
      return takeHandedRecords(settings, store);
    } finally {
      store.close();
    }
  } finally {
    closeSync(lock);
  }
}

process.umask(0o077);
setPriority(constants.priority.PRIORITY_LOW);
let answer: HandedPass;
try {
  // Written by the process that started this one.
  answer = pass(JSON.parse(readFileSync(0, 'utf8')) as Settings);
} catch (error) {
  answer = { taken: 0, problems: [`the records of jobs' owners can't be taken in: ${reasonOf(error)}`] };
}
process.stdout.write(JSON.stringify(answer));
