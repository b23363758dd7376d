import { accessSync, constants } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { MetricSeries } from '../../report/series/metric-series';
import { ALL_FACTS } from '../../sampler/figures/job-facts';
import type { NodeReader } from '../../sampler/node-store/node-reader';
import type { StoredSeries } from '../../sampler/series/series-table';
import type { Metric } from '../../sources/source';
import { CommandError, EXIT, usageError } from '../command';

/** node.db of this host, or why it can't be read, with its fix; `isForbidden`: it is for root alone. */
export type NodeDatabase =
  { readonly reader: NodeReader } | { readonly problem: string; readonly isForbidden: boolean };

/** Opens node.db in a state directory for reading; never throws. */
export async function openNodeDatabase(stateDirectory: string): Promise<NodeDatabase> {
  const path = join(stateDirectory, 'node.db');
  try {
    accessSync(path, constants.R_OK);
    const { openNodeReader } = await import('../../sampler/node-store/node-reader.js');
    return { reader: openNodeReader(stateDirectory) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const host = hostname();
    if (code === 'EACCES' || code === 'EPERM')
      return { isForbidden: true, problem: `${path} of ${host} is for root alone: use sudo` };
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR';
    const problem = isAbsent
      ? `${path} does not exist on ${host}: it comes with the first job there ("qmemacct doctor" checks the hooks)`
      : `${path} can't be read: ${message}`;
    return { isForbidden: false, problem };
  }
}

/** Reads node.db of a state directory. Rejects with CommandError (EXIT.unavailable) if it can't be read. */
export async function withNodeReader<T>(
  stateDirectory: string,
  read: (reader: NodeReader) => T | Promise<T>,
): Promise<T> {
  const database = await openNodeDatabase(stateDirectory);
  if (!('reader' in database)) throw new CommandError(database.problem, EXIT.unavailable);
  try {
    return await read(database.reader);
  } finally {
    database.reader.close();
  }
}

const METRICS: ReadonlyMap<string, Metric> = new Map(
  ALL_FACTS.flatMap(({ metrics }) => metrics.map((metric) => [metric.name, metric])),
);

/** Metric names from "a,b"; a source's name stands for all its metrics. Throws a usage error that names the option. */
export function parseMetricNames(option: string, text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return names.flatMap((name) => {
    if (METRICS.has(name)) return [name];
    const ofSource = ALL_FACTS.filter((facts) => facts.name === name);
    if (ofSource.length === 0)
      throw usageError(`${option}: "${name}" is neither a metric nor a source; "qmemacct metrics" lists them`);
    return ofSource.flatMap(({ metrics }) => metrics.map((metric) => metric.name));
  });
}

/** Stored series with unit and kind from the sources' tables, in the order of these tables. */
export function describeSeries(stored: readonly StoredSeries[]): readonly MetricSeries[] {
  const order = new Map([...METRICS.keys()].map((name, index) => [name, index]));
  const place = (series: StoredSeries): number => order.get(series.metric) ?? order.size;
  return [...stored]
    .sort((a, b) => place(a) - place(b) || a.instance.localeCompare(b.instance, 'en', { numeric: true }))
    .map(({ metric, instance, at, values }) => {
      // A metric that this version no longer has is still shown.
      const { unit = 'count', kind = 'gauge' } = METRICS.get(metric) ?? {};
      return { metric, instance, unit, kind, at, values };
    });
}
