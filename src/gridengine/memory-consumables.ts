import { configurationValue, readConfiguration } from './configuration';
import { enforcersOf, MEMORY_COMPLEXES, REQUEST_ORDER } from './memory-complex';
import type { Qconf } from './qconf';
import { parseQueueValue } from './queue-value';
import { showQconf } from './site';

/** A complex of memory that jobs may request, by the configuration. */
export interface ConfiguredComplex {
  readonly name: string;
  readonly consumable: 'YES' | 'JOB' | 'HOST' | 'NO';
  /** What a job gets that does not request the complex, as written there. */
  readonly preset: string;
}

/**
 * A complex, and whether the cluster, a host or a queue has a value for it: without any, a consumable limits nothing.
 */
export interface OfferedComplex extends ConfiguredComplex {
  readonly isOffered: boolean;
}

const isConsumable = (word: string): word is ConfiguredComplex['consumable'] =>
  ['YES', 'JOB', 'HOST', 'NO'].includes(word);

/**
 * The complexes of memory that can be requested, of `qconf -sc`: name, shortcut, type, relation, requestable,
 * consumable, default, urgency.
 */
export function memoryComplexes(text: string): readonly ConfiguredComplex[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , type, , requestable, word = '', preset = ''] = line.trim().split(/\s+/);
    const kind = word.toUpperCase();
    if (name.startsWith('#') || type !== 'MEMORY' || requestable?.toUpperCase() === 'NO' || !isConsumable(kind))
      return [];
    return [{ name, consumable: kind, preset }];
  });
}

/** The complexes of which a job takes its request once: on its master's host (JOB), or on each of its hosts (HOST). */
export function complexesOfKind(kind: 'JOB' | 'HOST', complexes: readonly ConfiguredComplex[]): readonly string[] {
  return complexes.filter(({ consumable }) => consumable === kind).map(({ name }) => name);
}

/** Complexes of the type MEMORY are used for other sizes, too: of disks, of GPUs. */
const NAMES_MEMORY = /mem|ram|rss/i;
const NAMES_OTHER = /gpu|disk|tmp|scratch|swap|video/i;

/** Consumables of the site's own that are memory, by their names. */
function ownMemoryConsumables(complexes: readonly ConfiguredComplex[]): readonly string[] {
  return complexes
    .filter(({ name, consumable }) => consumable !== 'NO' && NAMES_MEMORY.test(name) && !NAMES_OTHER.test(name))
    .map(({ name }) => name)
    .filter((name) => !MEMORY_COMPLEXES.includes(name));
}

/** The names in `complex_values` of what qconf prints for a host or a queue; for a queue also those of single hosts. */
function namesOfComplexValues(text: string): readonly string[] {
  const parsed = parseQueueValue(configurationValue(readConfiguration(text), 'complex_values') ?? 'NONE');
  if (!parsed.ok) return [];
  const values = [parsed.value.value ?? '', ...parsed.value.overrides.map(({ value }) => value)];
  return values.flatMap((list) => [...list.matchAll(/([^\s,=]+)=/g)].map(([, name = '']) => name));
}

/** At most this many hosts and queues are asked about. A complex not found by then is taken to be offered. */
const MOST_ASKED = 500;

/**
 * The complexes of memory of a cell. Hosts and queues are asked one by one until each consumable is found, so mostly
 * one or two. Rejects with QconfError.
 */
export async function readMemoryComplexes(qconf: Qconf): Promise<readonly OfferedComplex[]> {
  const complexes = memoryComplexes(await showQconf(qconf, ['-sc']));
  const missing = new Set(complexes.filter(({ consumable }) => consumable !== 'NO').map(({ name }) => name));
  let asked = 0;
  const ask = async (option: '-se' | '-sq', objects: readonly string[]): Promise<void> => {
    for (const object of objects) {
      if (asked++ >= MOST_ASKED) missing.clear();
      if (missing.size === 0) return;
      for (const name of namesOfComplexValues(await showQconf(qconf, [option, object]))) missing.delete(name);
    }
  };
  const list = async (option: '-sel' | '-sql'): Promise<readonly string[]> => {
    if (missing.size === 0) return [];
    const text = await showQconf(qconf, [option], /^no .* (list )?defined/im);
    return text.split(/\s+/).filter((word) => word !== '');
  };
  await ask('-se', ['global']);
  await ask('-se', await list('-sel'));
  await ask('-sq', await list('-sql'));
  return complexes.map((complex) => ({ ...complex, isOffered: !missing.has(complex.name) }));
}

const isEnforced = (name: string): boolean => enforcersOf(name).length > 0;

const consumablesOffered = (complexes: readonly OfferedComplex[]): readonly string[] =>
  complexes.filter(({ consumable, isOffered }) => consumable !== 'NO' && isOffered).map(({ name }) => name);

/** Consumables by which memory is reserved on hosts, and no more, the site's own first. */
export function reservedConsumables(complexes: readonly OfferedComplex[]): readonly string[] {
  const offered = new Set(consumablesOffered(complexes));
  const usual = REQUEST_ORDER.filter((name) => !isEnforced(name));
  return [...ownMemoryConsumables(complexes), ...usual].filter((name) => offered.has(name));
}

/** Consumables that are memory by their names, and for which nothing has a value. */
export function withoutValue(complexes: readonly OfferedComplex[]): readonly string[] {
  const own = ownMemoryConsumables(complexes);
  return complexes
    .filter(({ name, isOffered }) => !isOffered && (own.includes(name) || REQUEST_ORDER.includes(name)))
    .map(({ name }) => name);
}

/**
 * The complexes that jobs of the site request memory by, in order: those by which memory is reserved, enforced ones
 * first, then the rest. A queue's own h_vmem, say, is no request, but can't be distinguished from one later.
 */
export function requestOrderOf(complexes: readonly OfferedComplex[]): readonly string[] {
  const offered = new Set(consumablesOffered(complexes));
  const enforced = REQUEST_ORDER.filter((name) => isEnforced(name) && offered.has(name));
  return [...new Set([...enforced, ...reservedConsumables(complexes), ...REQUEST_ORDER])];
}
