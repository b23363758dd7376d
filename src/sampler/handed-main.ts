import { closeSync, futimesSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { lockFile } from '../native/libc';
import { handedLock } from './delivery/handed-process';
import { takeHandedRecords, type HandedPass } from './delivery/handed-records';
import { reasonOf } from '../base/user-error';
import { NodeStore } from './node-store/node-store';
import { parseSettings, type Settings } from '../record/settings';

/**
 * `node handed-main.js`, settings as TOML on standard input: one pass over the records that users handed in. It is a
 * process of its own, so that these files can't hold up the sampling of jobs. Prints a HandedPass as JSON.
 */
function pass(settings: Settings): HandedPass {
  const lock = lockFile(handedLock(settings));
  if (lock === null) return { taken: 0, problems: [] };
  try {
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
  answer = pass(parseSettings(readFileSync(0, 'utf8'), 'standard input'));
} catch (error) {
  answer = { taken: 0, problems: [`the records of jobs' owners can't be taken in: ${reasonOf(error)}`] };
}
process.stdout.write(JSON.stringify(answer));
