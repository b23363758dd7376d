import type { OptionValue } from '../../../src/record/setting';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import type { Place, Reading, Source, Unavailable } from '../../../src/sources/source';
import { temporaryDirectory } from '../../support/temporary-directory';

/** Machines that were not at hand; test/fixtures/hardware/NAME.tree has their /proc and /sys. */
export type Machine =
  | 'xeon-2s-linux-5.14'
  | 'desktop-linux-6.8'
  | 'epyc-2s-linux-5.12'
  | 'grace-linux-6.8'
  | 'old-linux-3.10'
  | 'omnipath-linux-5.14';

export interface Tree {
  readonly root: string;
  readonly place: (options?: Place['options']) => Place;
  /** Milliseconds of the place's clock. */
  readonly clock: { ms: number };
  readonly write: (path: string, text: string | number) => void;
  readonly remove: (path: string) => void;
}

/** An empty machine in a directory of the test's own. */
export function emptyTree(): Tree {
  const root = temporaryDirectory();
  const clock = { ms: 0 };
  const place = (options: Readonly<Record<string, OptionValue>> = {}): Place => ({
    proc: join(root, 'proc'),
    sys: join(root, 'sys'),
    root,
    now: () => clock.ms,
    options,
  });
  const write = (path: string, text: string | number): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}`);
  };
  return { root, place, clock, write, remove: (path) => rmSync(join(root, path), { recursive: true, force: true }) };
}

/** One of the machines, unpacked: lines `path = text`, `path -> target of a link`, and texts between `path <<` and `>>`. */
export function plant(machine: Machine): Tree {
  const tree = emptyTree();
  const file = join(packageRoot(), 'test', 'fixtures', 'hardware', `${machine}.tree`);
  const lines = readFileSync(file, 'utf8').split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (line === '' || line.startsWith('#')) continue;
    const [, path = '', how = '', rest = ''] = /^(\S+) (=|->|<<)(?: (.*))?$/.exec(line) ?? [];
    if (how === '=') tree.write(path, `${rest}\n`);
    else if (how === '->') {
      mkdirSync(dirname(join(tree.root, path)), { recursive: true });
      symlinkSync(rest, join(tree.root, path));
    } else if (how === '<<') {
      const end = lines.indexOf('>>', at);
      tree.write(path, `${lines.slice(at + 1, end).join('\n')}\n`);
      at = end;
    } else throw new Error(`${file}:${at + 1}: not understood: ${line}`);
  }
  return tree;
}

/** A source opened in a place, with its own defaults; closed with the test. */
export function opened(t: TestContext, source: Source, place: Place): () => readonly Reading[] | Unavailable {
  const open = source.open({ ...place, options: { ...source.options, ...place.options } });
  if ('unavailable' in open) return () => open;
  t.after(open.close);
  return open.read;
}

/** Readings as "metric instance" to value; throws the reason where the source is unavailable. */
export function values(readings: readonly Reading[] | Unavailable): Readonly<Record<string, number>> {
  if ('unavailable' in readings) throw new Error(readings.unavailable);
  return Object.fromEntries(readings.map(({ metric, instance, value }) => [`${metric} ${instance}`.trim(), value]));
}

/** Faults of readings by the metrics that their source declares; empty: they are sound. */
export function unsound(source: Source, readings: readonly Reading[] | Unavailable): readonly string[] {
  if ('unavailable' in readings)
    return readings.unavailable.includes('\n') || readings.unavailable === '' ? ['a reason that is no line'] : [];
  const known = new Map(source.metrics.map((metric) => [metric.name, metric]));
  const seen = new Set<string>();
  return readings.flatMap(({ metric, instance, value, pid }) => {
    const declared = known.get(metric);
    if (declared === undefined) return [`${metric}: not declared`];
    const key = `${metric}{${instance}}${pid === undefined ? '' : ` of ${pid}`}`;
    const problems: string[] = [];
    if (!Number.isFinite(value)) problems.push(`${key}: ${value}`);
    if (declared.kind === 'counter' && value < 0) problems.push(`${key}: counter of ${value}`);
    if (declared.unit === 'percent' && (value < 0 || value > 100)) problems.push(`${key}: ${value} %`);
    if (pid === undefined && (declared.instance === undefined) !== (instance === '')) problems.push(`${key}: instance`);
    if (seen.has(key)) problems.push(`${key}: twice`);
    seen.add(key);
    return problems;
  });
}
