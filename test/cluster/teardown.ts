import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { rootEnvironment } from './environment';
import type { Layout } from './layout';
import { namespaceTypes } from './layout';
import { killIn, namespaceOf, processesIn } from './processes';
import { runChecked } from './run';
import { until } from '../support/until';

/** Ends and removes whatever is left of the cell in this directory, even of a half-made one. */
export async function tearDown(layout: Layout): Promise<void> {
  if (!existsSync(layout.stateDir)) return;
  await endProcesses(layout);
  await unmountBelow(layout.stateDir);
  removeTree(layout.stateDir);
}

/** The namespaces that the state directory still holds, except the initial one (`initial.net`). */
export function heldNamespaces(layout: Layout): Set<string> {
  const held = new Set<string>();
  if (!existsSync(layout.namespaces)) return held;
  for (const name of readdirSync(layout.namespaces)) {
    const type = namespaceTypes.find((candidate) => name.endsWith(`.${candidate}`));
    const file = `${layout.namespaces}/${name}`;
    if (type === undefined || file === layout.initialNetns) continue;
    const namespace = namespaceOf(file, type);
    if (namespace !== null) held.add(namespace);
  }
  return held;
}

/** Kills every process in a namespace of the cell: daemons, jobs and what jobs left behind. */
async function endProcesses(layout: Layout): Promise<void> {
  const namespaces = heldNamespaces(layout);
  if (namespaces.size === 0) return;
  if (processesIn(namespaces).some(({ pid }) => pid === process.pid)) {
    throw new Error('this process runs on a host of the cell: bring the cell down from outside of it');
  }
  await until(
    () => {
      const left = processesIn(namespaces);
      for (const process of left) killIn(namespaces, process);
      return left.length === 0 ? true : null;
    },
    () =>
      `end of the cell's processes ${processesIn(namespaces)
        .map(({ pid, command }) => `${pid} (${command})`)
        .join(', ')}`,
    20,
  );
}

async function unmountBelow(dir: string): Promise<void> {
  for (const mount of mountsBelow(dir).reverse()) await runChecked(['umount', '--', mount], { env: rootEnvironment });
}

/** Mount points in this directory, in the order in which they were mounted. */
export function mountsBelow(dir: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => unescapeOctal(line.split(' ')[4] ?? ''))
    .filter((path) => path.startsWith(`${dir}/`));
}

function unescapeOctal(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}

function removeTree(dir: string): void {
  const mount = mountsBelow(dir)[0];
  if (mount !== undefined) throw new Error(`${mount} is still mounted: ${dir} is not removed`);
  rmSync(dir, { recursive: true, force: true });
}
