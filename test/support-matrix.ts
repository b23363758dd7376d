import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../src/base/package-root';

/** docs/versions.md: which tests run on each version of Grid Engine, and what supports the others. */

/** `kind`: of the cells that the tests bring up; null: the tests can have no cell of this version. */
const VERSIONS = [
  { name: '6.2u5', kind: null, fixtures: ['sge-6.2'] },
  { name: 'OGS 2011.11', kind: null, fixtures: ['ogs-2011'] },
  { name: '8.1.9', kind: 'sge8.1.9', fixtures: ['8.1.9'] },
  { name: 'Univa/Altair', kind: null, fixtures: ['univa-8.6', 'ugecore-8.0'] },
  { name: 'OCS 9.1', kind: 'ocs9.1', fixtures: ['ocs-9.1'] },
  { name: 'OCS 9.2', kind: 'ocs9.2', fixtures: [] },
] as const;

interface Capability {
  readonly name: string;
  /** The tests that show it, below `test/`. */
  readonly scenarios: readonly string[];
  /** A recorded answer of Grid Engine's that shows it, in the folder of its version. */
  readonly recorded?: string;
}

const CAPABILITIES: readonly Capability[] = [
  { name: 'records of serial and array jobs', scenarios: ['cluster/jobs'] },
  { name: 'proved peaks', scenarios: ['cluster/proved', 'cluster/brackets'] },
  { name: 'tasks of parallel jobs (`qrsh -inherit`)', scenarios: ['cluster/tight'] },
  { name: 'hooks beside those of a site', scenarios: ['cluster/hooks'] },
  { name: 'jobs under small limits', scenarios: ['cluster/limits'] },
  { name: "hostile names and environments of a job's owner", scenarios: ['cluster/hostile'] },
  { name: 'faults of processes, nodes and stores', scenarios: ['cluster/faults'] },
  { name: 'import of accounting', scenarios: ['cluster/import'] },
  { name: 'why a job ended, and what to request next', scenarios: ['cluster/why'] },
  { name: 'why a job waits', scenarios: ['cluster/pending'] },
  { name: 'live views', scenarios: ['cluster/live', 'cluster/live-poller'], recorded: 'jobs.qstat-j.xml' },
  { name: 'nightly report and mails', scenarios: ['cluster/night'] },
  { name: 'move to PostgreSQL while jobs run', scenarios: ['cluster/move'] },
  { name: 'perf counters', scenarios: ['cluster/perf'] },
];

function standing({ recorded }: Capability, { kind, fixtures }: (typeof VERSIONS)[number]): string {
  if (kind !== null) return 'run';
  const folders = join(packageRoot(), 'test/gridengine/fixtures');
  if (recorded !== undefined && fixtures.some((folder) => existsSync(join(folders, folder, recorded))))
    return 'recorded';
  return 'source';
}

/** A table as prettier formats it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((cell, column) => Math.max(3, cell.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}

export function supportMatrix(): string {
  return [
    '# Versions of Grid Engine',
    '',
    'Made from the lists of tests (`test/support-matrix.ts`) by `npm run generate`.',
    '',
    '- **run**: the tests do it on a cluster of this version that they bring up themselves (`npm test`,',
    '  on Open Cluster Scheduler in part `npm run test:ocs`)',
    '- **recorded**: read from answers that were recorded on such a cluster',
    "- **source**: written by the version's own source and manual pages; no test runs it there",
    '',
    ...table(
      ['', ...VERSIONS.map(({ name }) => name), 'tests'],
      CAPABILITIES.map((capability) => [
        capability.name,
        ...VERSIONS.map((version) => standing(capability, version)),
        capability.scenarios.join(', '),
      ]),
    ),
    '',
    '8.1.9 is Son of Grid Engine as Debian packages it; its fork (daimh) is supported by source. OCS is',
    'Open Cluster Scheduler, from which Gridware Cluster Scheduler is made.',
    '',
  ].join('\n');
}
