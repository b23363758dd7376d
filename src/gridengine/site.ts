import { UserError, reasonOf } from '../base/user-error';
import { configurationValue, readConfiguration, type Configuration } from './configuration';
import type { Qconf } from './qconf';

export interface ClusterQueue {
  readonly configuration: Configuration;
  /** Host names of its host list, groups resolved. */
  readonly hosts: readonly string[];
}

/** Everything that decides which prolog and epilog a job gets. */
export interface Site {
  readonly global: Configuration;
  /** Hosts with a configuration of their own, execution hosts or not. */
  readonly locals: ReadonlyMap<string, Configuration>;
  readonly queues: ReadonlyMap<string, ClusterQueue>;
  readonly execHosts: readonly string[];
  /** `@group` to its hosts, nested groups resolved. */
  readonly groups: ReadonlyMap<string, readonly string[]>;
}

/** A query that qconf did not answer: its arguments, and what qconf said. */
export class QconfError extends UserError {
  constructor(args: readonly string[], said: string) {
    super(`qconf ${args.join(' ')}: ${said.trim().split('\n')[0] ?? ''}`, {
      hint: 'run this on an admin host while qmaster is up',
    });
  }
}

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

/**
 * What qconf prints. A failure rejects with QconfError, unless `nothing` matches its message: then the result is "".
 */
export async function showQconf(qconf: Qconf, args: readonly string[], nothing?: RegExp): Promise<string> {
  const { status, stdout, stderr } = await qconf(args).catch((error: unknown) => {
    throw new QconfError(args, reasonOf(error));
  });
  if (status === 0) return stdout;
  if (nothing?.test(stdout + stderr)) return '';
  throw new QconfError(args, stderr || stdout || `status ${status}`);
}

/** The hosts of a queue's host list, with its `@groups` resolved. */
function hostsOf(list: string, groups: Site['groups']): readonly string[] {
  const hosts = list
    .split(/[\s,]+/)
    .filter((word) => word !== '' && word.toUpperCase() !== 'NONE')
    .flatMap((word) => (word.startsWith('@') ? (groups.get(word) ?? []) : [word]));
  return [...new Set(hosts)];
}

/** Reads all of it from qmaster. Rejects with QconfError. */
export async function readSite(qconf: Qconf): Promise<Site> {
  const show = (...args: readonly string[]): Promise<string> => showQconf(qconf, args, /^no .* (list )?defined/im);
  const global = readConfiguration(await show('-sconf'));
  const locals = new Map<string, Configuration>();
  for (const host of words(await show('-sconfl'))) locals.set(host, readConfiguration(await show('-sconf', host)));
  const groups = new Map<string, readonly string[]>();
  for (const group of words(await show('-shgrpl'))) groups.set(group, words(await show('-shgrp_resolved', group)));
  const queues = new Map<string, ClusterQueue>();
  for (const queue of words(await show('-sql'))) {
    const configuration = readConfiguration(await show('-sq', queue));
    queues.set(queue, { configuration, hosts: hostsOf(configurationValue(configuration, 'hostlist') ?? '', groups) });
  }
  return { global, locals, queues, execHosts: words(await show('-sel')), groups };
}
