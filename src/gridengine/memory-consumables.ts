import { enforcersOf, MEMORY_COMPLEXES, REQUEST_ORDER } from './memory-complex';

/** A complex of memory that jobs may request, by the configuration. */
export interface ConfiguredComplex {
  readonly name: string;
  readonly consumable: 'YES' | 'JOB' | 'NO';
  /** What a job that does not request it gets, as written there. */
  readonly preset: string;
}

const isConsumable = (word: string): word is ConfiguredComplex['consumable'] => ['YES', 'JOB', 'NO'].includes(word);

/**
 * The complexes of memory that can be requested, of `qconf -sc`: name, shortcut, type, relation, requestable,
 * consumable, default, urgency. HOST (Univa) is once for the job on each host, as JOB is.
 */
export function memoryComplexes(text: string): readonly ConfiguredComplex[] {
  return text.split('\n').flatMap((line) => {
    const [name = '', , type, , requestable, word = '', preset = ''] = line.trim().split(/\s+/);
    const kind = word.toUpperCase() === 'HOST' ? 'JOB' : word.toUpperCase();
    if (name.startsWith('#') || type !== 'MEMORY' || requestable?.toUpperCase() === 'NO' || !isConsumable(kind))
      return [];
    return [{ name, consumable: kind, preset }];
  });
}

/** Those that are requested once for the job on a host. */
export function perJobComplexes(complexes: readonly ConfiguredComplex[]): readonly string[] {
  return complexes.filter(({ consumable }) => consumable === 'JOB').map(({ name }) => name);
}

/** Complexes of the type MEMORY are used for other sizes, too: of disks, of GPUs. */
const NAMES_MEMORY = /mem|ram|rss/i;
const NAMES_OTHER = /gpu|disk|tmp|scratch|swap|video/i;

/** Consumables of the site's own that are memory, by their names. */
export function ownMemoryConsumables(complexes: readonly ConfiguredComplex[]): readonly string[] {
  return complexes
    .filter(({ name, consumable }) => consumable !== 'NO' && NAMES_MEMORY.test(name) && !NAMES_OTHER.test(name))
    .map(({ name }) => name)
    .filter((name) => !MEMORY_COMPLEXES.includes(name));
}

/**
 * What jobs of the site request memory by, the first requested first: what is enforced, the site's own consumables, and
 * the rest of the usual order.
 */
export function requestOrderOf(complexes: readonly ConfiguredComplex[]): readonly string[] {
  const enforced = REQUEST_ORDER.filter((name) => enforcersOf(name).length > 0);
  return [...new Set([...enforced, ...ownMemoryConsumables(complexes), ...REQUEST_ORDER])];
}
