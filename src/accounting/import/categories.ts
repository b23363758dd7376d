import { remembered } from '../../base/remembered';
import { FIELDS } from '../../record/fields';
import { fromJson, type Cell } from '../cell-codec';
import { requestsOfLine } from './line-record';
import type { RequestRules } from '../../record/request-rules';
import { NO_REQUESTS, type LineRequests } from './line-requests';
import type { PlacedLine } from './line-place';

const CACHED = 20_000;
/** Longer texts are cut in the record. */
export const LONGEST_USUAL = 1000;

/** What a category requests with certain slots. */
interface Asked {
  readonly requests: LineRequests;
  /** Requests beside h_vmem, as JSON; null: none. */
  readonly beside: string | null;
  /** The cells that rows of such lines have, by the order of complexes. */
  readonly cells: Map<string | null, readonly Cell[]>;
}

/** What many lines requested; `text` null: they have no category. */
interface Category {
  readonly text: string | null;
  readonly bySlots: Map<number, Asked>;
}

/** The categories of lines, each read only once. */
export class Categories {
  private readonly known = remembered((text: string | null): Category => ({ text, bySlots: new Map() }), CACHED);
  /** The complexes of requests that are given as JSON. */
  readonly complexesOf = remembered(
    (asked: string): ReadonlySet<string> => new Set(Object.keys(fromJson(FIELDS.requests.shape, asked, 'requests'))),
    CACHED,
  );

  constructor(private readonly rules: RequestRules) {}

  /** null: the line's category is too long to be kept here. */
  of({ category: text }: PlacedLine): Category | null {
    return (text?.length ?? 0) > LONGEST_USUAL ? null : this.known(text);
  }

  asked(line: PlacedLine, category: Category | null): Asked {
    // A slave task's line has no requests, whatever its slots; a parallel job's slots are those of all hosts.
    const key = line.peTaskId === null ? 2 * line.slots + Number(line.pe === null) : -1;
    const known = category?.bySlots.get(key);
    if (known !== undefined) return known;
    const requests = requestsOfLine(line, this.rules);
    const beside = requests.requests === NO_REQUESTS.requests ? null : JSON.stringify(requests.requests);
    const made = { requests, beside, cells: new Map<string | null, readonly Cell[]>() };
    category?.bySlots.set(key, made);
    return made;
  }
}
