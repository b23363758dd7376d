import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';

export type GroupName = 'unit' | 'load' | 'cluster' | 'vm';

/** What a file needs while it runs: a processor, a Grid Engine cell of its own beside others, or the whole machine. */
export type Need = 'processor' | 'cell' | 'machine';

export interface TestFile {
  /** The compiled file. */
  readonly path: string;
  /** Below `test/`, without `.test.js`. */
  readonly name: string;
  readonly group: GroupName;
  readonly need: Need;
}

/** These take longest: they start first, so that none of them is left over at the end. */
const LONGEST = [
  'load/exactly-once',
  'sampler/brackets-live',
  'accounting/postgres/postgres-store',
  'cli/install/install-node',
  'cluster/live',
  'cluster/brackets',
  'cluster/proved',
  'cluster/hooks',
  'cluster/tight',
  'cluster/faults',
  'cluster/live-poller',
  'cluster/hostile',
  'cluster/jobs',
];

/** Files that can't share the machine, each with the reason. */
const ALONE: Readonly<Record<string, string>> = {};

const NEED_OF_GROUP: Readonly<Record<GroupName, Need>> = {
  unit: 'processor',
  load: 'processor',
  cluster: 'cell',
  vm: 'machine',
};

function isGroup(name: string): name is GroupName {
  return name in NEED_OF_GROUP;
}

/** The groups of these names. Throws for one that there isn't. */
export function groupsNamed(names: readonly string[]): readonly GroupName[] {
  return names.map((name) => {
    if (!isGroup(name))
      throw new Error(`unknown group of tests "${name}": one of ${Object.keys(NEED_OF_GROUP).join(', ')}`);
    return name;
  });
}

/** Every test file below the directory, the longest first. */
export function testFiles(directory: string): readonly TestFile[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.js'))
    .sort()
    .map((path): TestFile => {
      const name = path.slice(0, -'.test.js'.length);
      const [folder = ''] = name.split(sep);
      const group = isGroup(folder) ? folder : 'unit';
      return { path: join(directory, path), name, group, need: name in ALONE ? 'machine' : NEED_OF_GROUP[group] };
    });
  const rank = ({ name }: TestFile): number => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length);
  return files.sort((a, b) => rank(a) - rank(b));
}
