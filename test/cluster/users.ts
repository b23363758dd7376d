import { chownSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kind } from './kind';
import { cellNumber, type Layout } from './layout';
import { privateEtc } from './namespaces';
import type { CellUser } from './state';

const firstUserId = 52_001 + 20 * cellNumber;

/** Finds user and group numbers that this machine does not use. */
export function chooseUsers(layout: Layout, names: readonly string[]): CellUser[] {
  const taken = new Set([...columns('/etc/passwd', 2), ...columns('/etc/group', 2)]);
  let next = firstUserId;
  return names.map((name) => {
    while (taken.has(String(next))) next++;
    const id = next++;
    return { name, uid: id, gid: id, home: layout.home(name) };
  });
}

/** Writes the user files that the cell's hosts see; the machine's own files stay without the cell's users. */
export function writeUserFiles(layout: Layout, users: readonly CellUser[]): void {
  for (const name of privateEtc) {
    if (name !== 'hosts') copyFileSync(join('/etc', name), join(layout.etc, name));
  }
  // Root has another home in the cell, without what this machine's root has measured.
  mkdirSync(layout.home('root'), { recursive: true, mode: 0o700 });
  append(layout, 'passwd', users, ({ name, uid, gid, home }) => `${name}:x:${uid}:${gid}::${home}:/bin/bash`);
  append(layout, 'group', users, ({ name, gid }) => `${name}:x:${gid}:`);
  append(layout, 'shadow', users, ({ name }) => `${name}:*:19000:0:99999:7:::`);
  for (const user of users) {
    mkdirSync(user.home, { recursive: true, mode: 0o755 });
    chownSync(user.home, user.uid, user.gid);
    // A job's PATH does not have Grid Engine's programs.
    if (kind.path.length > 0) writeFileSync(join(user.home, '.profile'), `PATH=${kind.path.join(':')}:$PATH\n`);
  }
}

/** The user of this name on the cell's hosts. Throws if there is none. */
export function findUser(layout: Layout, name: string): CellUser {
  const line = lines(join(layout.etc, 'passwd')).find((candidate) => candidate.startsWith(`${name}:`));
  const fields = line?.split(':');
  if (fields === undefined) throw new Error(`no user ${name} on the cell's hosts`);
  const home = name === 'root' ? layout.home(name) : (fields[5] ?? '/');
  return { name, uid: Number(fields[2]), gid: Number(fields[3]), home };
}

/** The first id of `count` consecutive ones that no group of this machine has, from `start` on in steps of `count`. */
export function freeGroupRange(start: number, count: number): number {
  const taken = columns('/etc/group', 2).map(Number);
  let first = start;
  while (taken.some((gid) => gid >= first && gid < first + count)) first += count;
  return first;
}

function append(layout: Layout, file: string, users: readonly CellUser[], line: (user: CellUser) => string): void {
  const path = join(layout.etc, file);
  const others = lines(path).filter((old) => !users.some(({ name }) => old.startsWith(`${name}:`)));
  writeFileSync(path, `${[...others, ...users.map(line)].join('\n')}\n`);
}

function columns(path: string, index: number): string[] {
  return lines(path).map((line) => line.split(':')[index] ?? '');
}

function lines(path: string): string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}
