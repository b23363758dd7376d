import { NO_FILTER, type FilterField, type LiveFilter } from './filter';
import { HOST_ORDERS, JOB_ORDERS, PENDING_ORDERS } from './orders';
import { parsePatterns } from '../../accounting/filter-record';

export type WatchPage = 'jobs' | 'pending' | 'hosts';

export interface Sorting {
  readonly key: string;
  readonly reverse: boolean;
}

/** What the user who watches has chosen. */
export interface WatchState {
  readonly page: WatchPage;
  readonly filter: LiveFilter;
  readonly sorting: Readonly<Record<WatchPage, Sorting>>;
  /** Hosts with their jobs. */
  readonly details: boolean;
  /** The first line of the list that is shown. */
  readonly top: number;
  readonly paused: boolean;
  readonly help: boolean;
  /** A filter that is being written. */
  readonly prompt: { readonly field: FilterField; readonly text: string } | null;
  readonly quit: boolean;
}

/** How long the list is, and how much of it fits. */
export interface Extent {
  readonly lines: number;
  readonly room: number;
}

/** The keys of `--sort`, in order. */
export const SORT_KEYS: Readonly<Record<WatchPage, readonly string[]>> = {
  jobs: JOB_ORDERS.map(({ key }) => key),
  pending: PENDING_ORDERS.map(({ key }) => key),
  hosts: HOST_ORDERS.map(({ key }) => key),
};

const PAGES: readonly WatchPage[] = ['jobs', 'pending', 'hosts'];

/** The state at the start: nothing is scrolled or being written. */
export function startWatching(
  page: WatchPage,
  choice: { readonly filter: LiveFilter; readonly sorting: Sorting | null; readonly details: boolean },
): WatchState {
  const usual: WatchState['sorting'] = {
    jobs: { key: JOB_ORDERS[0].key, reverse: false },
    pending: { key: PENDING_ORDERS[0].key, reverse: false },
    hosts: { key: HOST_ORDERS[0].key, reverse: false },
  };
  return {
    page,
    filter: choice.filter,
    sorting: choice.sorting === null ? usual : { ...usual, [page]: choice.sorting },
    details: choice.details,
    top: 0,
    paused: false,
    help: false,
    prompt: null,
    quit: false,
  };
}

/** Bounds `top` so that the list leaves no room empty. */
export function clampTop(top: number, { lines, room }: Extent): number {
  return Math.max(0, Math.min(top, lines - room));
}

function next<T>(all: readonly T[], current: T, by: 1 | -1): T {
  return all[(all.indexOf(current) + by + all.length) % all.length] ?? current;
}

function sortBy(state: WatchState, by: 1 | -1): WatchState {
  const { key } = state.sorting[state.page];
  const sorting = { key: next(SORT_KEYS[state.page], key, by), reverse: false };
  return { ...state, sorting: { ...state.sorting, [state.page]: sorting }, top: 0 };
}

function reversed(state: WatchState): WatchState {
  const sorting = state.sorting[state.page];
  const turned = { ...sorting, reverse: !sorting.reverse };
  return { ...state, sorting: { ...state.sorting, [state.page]: turned }, top: 0 };
}

/** The filter that each key lets the user edit, beginning with its present text. */
const PROMPTS: Readonly<Record<string, FilterField>> = { '/': 'any', o: 'owner', h: 'host', j: 'job' };

const LONGEST_FILTER = 1000;

function stepPrompt(state: WatchState, prompt: NonNullable<WatchState['prompt']>, key: string): WatchState {
  const write = (text: string): WatchState => ({ ...state, prompt: { ...prompt, text } });
  switch (key) {
    case 'ctrl-c':
      return { ...state, quit: true };
    case 'escape':
      return { ...state, prompt: null };
    case 'enter':
      return {
        ...state,
        prompt: null,
        filter: { ...state.filter, [prompt.field]: parsePatterns(prompt.text) },
        top: 0,
      };
    case 'backspace':
      return write(Array.from(prompt.text).slice(0, -1).join(''));
    case 'ctrl-u':
      return write('');
    default:
      return Array.from(key).length === 1 && prompt.text.length < LONGEST_FILTER ? write(prompt.text + key) : state;
  }
}

function isEmpty(filter: LiveFilter): boolean {
  return (Object.keys(filter) as FilterField[]).every((field) => filter[field].length === 0);
}

type Step = (state: WatchState, extent: Extent) => WatchState;

const quit: Step = (state) => ({ ...state, quit: true });
const pause: Step = (state) => ({ ...state, paused: !state.paused });

/** Scrolls to the line that `top` names. */
const scroll =
  (top: (state: WatchState, extent: Extent) => number): Step =>
  (state, extent) => ({ ...state, top: clampTop(top(state, extent), extent) });

const pageOf = ({ room }: Extent): number => Math.max(1, room - 1);

const STEPS: ReadonlyMap<string, Step> = new Map<string, Step>([
  ['q', quit],
  ['ctrl-c', quit],
  ['?', (state) => ({ ...state, help: !state.help })],
  ['escape', (state) => (state.help ? { ...state, help: false } : state)],
  ['s', (state) => sortBy(state, 1)],
  ['S', (state) => sortBy(state, -1)],
  ['r', reversed],
  ['p', pause],
  [' ', pause],
  ['u', (state) => (state.page === 'hosts' ? { ...state, details: !state.details, top: 0 } : state)],
  ['c', (state) => (isEmpty(state.filter) ? state : { ...state, filter: NO_FILTER, top: 0 })],
  ['tab', (state) => ({ ...state, page: next(PAGES, state.page, 1), top: 0 })],
  ['up', scroll(({ top }) => top - 1)],
  ['down', scroll(({ top }) => top + 1)],
  ['pageup', scroll(({ top }, extent) => top - pageOf(extent))],
  ['pagedown', scroll(({ top }, extent) => top + pageOf(extent))],
  ['home', scroll(() => 0)],
  ['end', scroll((_, { lines }) => lines)],
  ...Object.entries(PROMPTS).map(([key, field]): [string, Step] => [
    key,
    (state) => ({ ...state, prompt: { field, text: state.filter[field].join(',') } }),
  ]),
]);

/**
 * The state after a key. Keys are single characters, or names: up, down, pageup, pagedown, home, end, enter, escape,
 * backspace, tab, ctrl-c, ctrl-u. Any other changes nothing.
 */
export const stepWatch = (state: WatchState, key: string, extent: Extent): WatchState =>
  state.prompt === null ? (STEPS.get(key)?.(state, extent) ?? state) : stepPrompt(state, state.prompt, key);
