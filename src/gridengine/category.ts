import { parseTime } from './memory-size';

/** What accounting's `category` tells of how a job was submitted. The user chooses much of it. */
export interface Category {
  /** Hard requests (`-l`) by complex, as they were normalised: times in seconds, memory as typed. */
  readonly requests: ReadonlyMap<string, string>;
  /** The parallel environment; its range is what was asked for, not what was granted. */
  readonly pe: { readonly name: string; readonly range: string } | null;
}

/** Longer ones are no options that a person typed; the bound keeps hostile input cheap. */
const MAX_LENGTH = 64 * 1024;

/**
 * Reads `-U staff -q all.q -l h_rt=3600,h_vmem=4G -pe smp 4 -P biology`. Requests after `-soft` are wishes and left out;
 * of a complex that comes twice the last one counts.
 */
export function parseCategory(text: string): Category {
  const words = text
    .slice(0, MAX_LENGTH)
    .split(/\s+/)
    .filter((word) => word !== '');
  const requests = new Map<string, string>();
  let pe: Category['pe'] = null;
  let soft = false;
  for (let index = 0; index < words.length; index++) {
    const word = words[index];
    if (word === '-soft') soft = true;
    else if (word === '-hard') soft = false;
    else if (word === '-l') {
      index += 1;
      if (!soft) for (const [complex, value] of readRequests(words[index] ?? '')) requests.set(complex, value);
    } else if (word === '-pe') {
      const [name, range] = [words[index + 1], words[index + 2]];
      if (name !== undefined && range !== undefined) pe = { name, range };
      index += 2;
    }
  }
  return { requests, pe };
}

/** A boolean complex may stand there without a value. */
function readRequests(list: string): [string, string][] {
  return list.split(',').flatMap((entry): [string, string][] => {
    const [complex = '', ...value] = entry.split('=');
    if (complex === '') return [];
    return [[complex, value.length === 0 ? 'TRUE' : value.join('=')]];
  });
}

/** Seconds of a TIME request; null: not asked for, unlimited, or unreadable. */
export function requestedSeconds(category: Category, complex: string): number | null {
  const text = category.requests.get(complex);
  const parsed = text === undefined ? null : parseTime(text);
  return parsed?.ok === true && Number.isFinite(parsed.value) && parsed.value > 0 ? parsed.value : null;
}
