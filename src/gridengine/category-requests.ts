import type { Result } from '../base/result';
import { parseMemorySize, parseTime } from './memory-size';

/** A resource that a job asked for, as it was typed. */
export interface CategoryRequest {
  readonly name: string;
  readonly text: string;
}

/** At most this many are read: Grid Engine writes no longer categories. */
const MOST_REQUESTS = 256;

let latest: { readonly category: string; readonly requests: readonly CategoryRequest[] } = {
  category: '',
  requests: [],
};

/**
 * The resources in a job's category, `-U users -l h_rt=3600,h_vmem=4G -pe smp 2`: the `name=value` parts of each `-l`,
 * the first where a name comes twice. Soft requests (after `-soft`) are left out, and so are those after `-scope master`
 * or `-scope slave` (Open Cluster Scheduler), which are for some slots only; no category tells for which. A value may
 * hold no comma and no blank, as Grid Engine itself prints none. The latest requests are kept: tasks of one array have
 * the same.
 */
export function categoryRequests(category: string): readonly CategoryRequest[] {
  if (category !== latest.category) latest = { category, requests: readCategory(category) };
  return latest.requests;
}

function readCategory(category: string): readonly CategoryRequest[] {
  const requests = new Map<string, string>();
  let soft = false;
  let ofEverySlot = true;
  for (const [, option, scope, list] of category.matchAll(/(?:^|\s)-(soft|hard|scope\s+(\S+)|l\s+(\S+))(?!\S)/g)) {
    if (scope !== undefined) ofEverySlot = scope === 'global';
    else if (list === undefined) soft = option === 'soft';
    else if (!soft && ofEverySlot) readRequests(list, requests);
  }
  return [...requests].map(([name, text]) => ({ name, text }));
}

function readRequests(list: string, requests: Map<string, string>): void {
  for (const part of list.split(',')) {
    const equals = part.indexOf('=');
    if (equals <= 0 || requests.size >= MOST_REQUESTS) continue;
    const name = part.slice(0, equals);
    if (!requests.has(name)) requests.set(name, part.slice(equals + 1));
  }
}

/** Bytes of a MEMORY request such as mem_free; null: not asked for, unlimited, or unreadable. */
export function requestedMemory(requests: readonly CategoryRequest[], complex: string): number | null {
  return amountOf(requests, complex, parseMemorySize);
}

/** Seconds of a TIME request such as h_rt; null: not asked for, unlimited, or unreadable. */
export function requestedSeconds(requests: readonly CategoryRequest[], complex: string): number | null {
  return amountOf(requests, complex, parseTime);
}

function amountOf(
  requests: readonly CategoryRequest[],
  complex: string,
  parse: (text: string) => Result<number>,
): number | null {
  const text = requests.find(({ name }) => name === complex)?.text;
  const parsed = text === undefined ? null : parse(text);
  return parsed?.ok === true && Number.isFinite(parsed.value) && parsed.value > 0 ? parsed.value : null;
}
