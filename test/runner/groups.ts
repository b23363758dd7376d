import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { groupBy } from '../../src/base/group-by';
import { KIND_VARIABLE } from '../cluster/kind';

export type GroupName = 'unit' | 'load' | 'cluster' | 'ocs' | 'rollout' | 'vm';

/** What a file needs while it runs: a processor, its own Grid Engine cell beside others, or the whole machine. */
export type Need = 'processor' | 'cell' | 'machine';

/** The test files that one process runs: one file, or several of one folder. */
export interface TestFiles {
  /** The compiled files. */
  readonly paths: readonly string[];
  /** Path below `test/`, without `.test.js`; of several files: their folder and a number. */
  readonly name: string;
  readonly group: GroupName;
  readonly need: Need;
  /** Added to the environment of the process that runs them. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The longest files, which start first, so that none of them runs alone at the end. */
const LONGEST = [
  'load/exactly-once',
  'sampler/brackets-live',
  'accounting/postgres/postgres-store',
  'cli/install/install-node',
  'sampler/hooks',
  'accounting/deliverer',
  'server/web/browser',
  'sampler/service/service',
  'cluster/brackets',
  'cluster/live',
  'cluster/proved',
  'cluster/hooks',
  'cluster/tight',
  'cluster/faults',
  'cluster/live-poller',
  'cluster/hostile',
  'cluster/jobs',
  'cluster/import',
  'cluster/rules',
  'cluster/job-mails',
  'cluster/snakemake',
  'cluster/perf',
];

/**
 * Every file of `cluster/` runs on Debian's 8.1.9 and on both versions of Open Cluster Scheduler. Of the runs on the latter
 * these belong to the group `cluster`, as they differ most from 8.1.9; the others belong to the group `ocs`.
 */
const IN_CLUSTER_ALSO_ON: Readonly<Record<string, readonly string[]>> = {
  'ocs9.1': ['cluster/ocs', 'cluster/pending'],
  'ocs9.2': ['cluster/ocs'],
};

/** Files that run on other kinds than 8.1.9 only. */
const NOT_ON_SGE: readonly string[] = ['cluster/ocs'];

/** Files that need the whole machine, each with the reason. */
const ALONE: Readonly<Record<string, string>> = {};

const NEED_OF_GROUP: Readonly<Record<GroupName, Need>> = {
  unit: 'processor',
  load: 'processor',
  cluster: 'cell',
  ocs: 'cell',
  rollout: 'machine',
  vm: 'machine',
};

function isGroup(name: string): name is GroupName {
  return name in NEED_OF_GROUP;
}

/** The groups with these names. Throws for an unknown name. */
export function groupsNamed(names: readonly string[]): readonly GroupName[] {
  return names.map((name) => {
    if (!isGroup(name))
      throw new Error(`unknown group of tests "${name}": one of ${Object.keys(NEED_OF_GROUP).join(', ')}`);
    return name;
  });
}

/** The same file for each other kind of Grid Engine; empty if it is not a cluster test. */
function onOtherKinds(file: TestFiles): readonly TestFiles[] {
  if (file.group !== 'cluster') return [];
  return Object.entries(IN_CLUSTER_ALSO_ON).map(([kind, names]) => ({
    ...file,
    name: `${file.name}@${kind}`,
    group: names.includes(file.name) ? 'cluster' : 'ocs',
    environment: { [KIND_VARIABLE]: kind },
  }));
}

/** How many unit test files share a process: to start Node takes longer than most of them. */
const FILES_PER_PROCESS = 12;

/** Matches a compiled file that changes its whole process, or looks at the modules that the process has loaded. */
const NEEDS_OWN_PROCESS = /^(process\.|\(0, node_test_1\.(before|after)(Each)?\))|\brequire\.cache\b/m;

/** Puts unit tests of one folder together, except the longest files and those that need their own process. */
function groupUnitTests(files: readonly TestFiles[]): readonly TestFiles[] {
  const isOwn = ({ name, group, paths }: TestFiles): boolean =>
    group !== 'unit' ||
    LONGEST.includes(name) ||
    paths.some((path) => NEEDS_OWN_PROCESS.test(readFileSync(path, 'utf8')));
  const counts = new Map<string, number>();
  const byPlace = groupBy(files, (file) => {
    if (isOwn(file)) return file.name;
    const folder = dirname(file.name);
    const count = counts.get(folder) ?? 0;
    counts.set(folder, count + 1);
    return join(folder, `${1 + Math.floor(count / FILES_PER_PROCESS)}`);
  });
  return [...byPlace].flatMap(([name, of]) => {
    const [first] = of;
    if (first === undefined || of.length === 1) return of;
    return [{ ...first, name, paths: of.flatMap(({ paths }) => paths) }];
  });
}

/** Every test file below the directory, the longest first. */
export function testFiles(directory: string): readonly TestFiles[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.js'))
    .sort()
    .flatMap((path): TestFiles[] => {
      const name = path.slice(0, -'.test.js'.length);
      const [folder = ''] = name.split(sep);
      const group = isGroup(folder) ? folder : 'unit';
      const need = name in ALONE ? 'machine' : NEED_OF_GROUP[group];
      const plain: TestFiles = { paths: [join(directory, path)], name, group, need, environment: {} };
      return [...(NOT_ON_SGE.includes(name) ? [] : [plain]), ...onOtherKinds(plain)];
    });
  const rank = ({ name }: TestFiles): number => {
    const at = LONGEST.indexOf(name.split('@')[0] ?? '');
    return at === -1 ? LONGEST.length : at;
  };
  return [...groupUnitTests(files)].sort((a, b) => rank(a) - rank(b));
}
