import { HOUR_MS } from '../../base/units';
import { Latest } from '../../base/latest';
import type { HourSums } from './hour-sums';
import { dayOf, hourOf, HOURS_OF_DAY, type Span } from './periods';
import type { EarlierRow, FactRow } from './summer';

/** How many hours are kept: those of today and yesterday. At a hundred thousand records a day each takes 2 MB. */
const MOST_HOURS = 60;
/** Records of days before these latest ones, as after a long import, are read each time. */
const MOST_DAYS = 2;
/** Most records kept of an hour if a part of it is asked for: about 10 MB. */
const MOST_ROWS = 20_000;
/** Most records kept of any other hour: all hours together take 60 MB. */
const MOST_ROWS_EACH = 2_000;
/** Making an hour's sums takes as long as several queries that add up its records: a report has four such queries. */
const ROWS_TIMES = 8;

/** Numbers that differ after each change. */
export interface Changes {
  /** Of hours with records that have changed since their day was summed up. */
  readonly hours: ReadonlyMap<number, number>;
  /** Of days that have been summed up, for their other hours, which have not changed since. */
  readonly days: ReadonlyMap<number, number>;
  /** Hours with records that wait in an inbox, and the number of its state; null: these hours can't be kept. */
  readonly unsettled?: { readonly hours: ReadonlySet<number>; readonly change: number | null };
}

function changeOf({ hours, days, unsettled }: Changes, hour: number): number | string | undefined {
  if (unsettled?.hours.has(hour) === true) return unsettled.change === null ? undefined : `waiting ${unsettled.change}`;
  return hours.get(hour) ?? days.get(Math.floor(hour / HOURS_OF_DAY));
}

/** What is kept of an hour; neither sums nor records: it was read before and has too many records. */
interface Kept {
  readonly change: number | string;
  readonly sums: HourSums | null;
  readonly records: HourRecords | null;
  /** How often the records have answered queries that are not sparse. */
  readonly times: number;
}

/** All records of an hour, and the earlier records of their jobs. */
export interface HourRecords {
  readonly rows: readonly FactRow[];
  readonly earlier: readonly EarlierRow[];
}

/** A part of a day: an hour's sums or records, which are kept or to be kept, or records that are not kept. */
export type Piece =
  | {
      readonly what: 'sums';
      readonly span: Span;
      readonly kept: HourSums | null;
      /** The records to make the sums from, if kept. */
      readonly records: HourRecords | null;
      readonly keep: (made: HourSums) => void;
    }
  | {
      readonly what: 'rows';
      readonly span: Span;
      readonly hour: Span;
      readonly kept: HourRecords | null;
      readonly keep: (read: HourRecords) => void;
    }
  | { readonly what: 'read'; readonly span: Span };

/**
 * What a reader keeps of hours of days that are not summed up. Pages and reports sum the same hours by one dimension
 * after the other; so they read only what has changed.
 */
export class KeptHours {
  private readonly hours = new Latest<number, Kept>(MOST_HOURS);
  /** Most commands ask one question: only from the second on is more read than it needs. */
  private isFirst = true;

  /** The pieces of the parts of a plan. `sparse`: an index finds the few records that are wanted. */
  piecesOf(parts: readonly Span[], changes: Changes, sparse: boolean): readonly Piece[] {
    const lastDay = dayOf(parts.at(-1)?.since ?? 0);
    const readsOwn = sparse || this.isFirst;
    this.isFirst = false;
    return parts.flatMap((part): readonly Piece[] =>
      dayOf(part.since) <= lastDay - MOST_DAYS ? [{ what: 'read', span: part }] : this.pieces(part, changes, readsOwn),
    );
  }

  private pieces({ since, until }: Span, changes: Changes, sparse: boolean): readonly Piece[] {
    const pieces: Piece[] = [];
    for (let hour = hourOf(since); hour * HOUR_MS < until; hour++) {
      const whole = { since: hour * HOUR_MS, until: (hour + 1) * HOUR_MS };
      const span = { since: Math.max(since, whole.since), until: Math.min(until, whole.until) };
      const change = changeOf(changes, hour);
      const brief = changes.unsettled?.hours.has(hour) ?? false;
      const kept = change === undefined ? null : this.pieceOf(hour, change, span, { sparse, brief });
      const last = pieces.at(-1);
      if (kept !== null) pieces.push(kept);
      else if (last?.what === 'read')
        pieces[pieces.length - 1] = { what: 'read', span: { ...last.span, until: span.until } };
      else pieces.push({ what: 'read', span });
    }
    return pieces;
  }

  /** null: the records must be read. `brief`: the hour changes so soon that its sums are not worth making. */
  private pieceOf(
    hour: number,
    change: number | string,
    span: Span,
    { sparse, brief }: { readonly sparse: boolean; readonly brief: boolean },
  ): Piece | null {
    const before = this.hours.get(hour);
    const known = before?.change === change ? before : null;
    const { sums = null, records = null, times = 0 } = known ?? {};
    const isWhole = span.until - span.since === HOUR_MS && !brief;
    if (sparse && sums === null && records === null) return null;
    const wantsSums = !sparse && before !== undefined && (records === null || times >= ROWS_TIMES);
    if (isWhole && (sums !== null || wantsSums)) {
      const keep = (made: HourSums): void => {
        this.hours.set(hour, { change, sums: made, records: null, times: 0 });
      };
      return { what: 'sums', span, kept: sums, records, keep };
    }
    const most = isWhole ? MOST_ROWS_EACH : MOST_ROWS;
    const keep = (read: HourRecords): void => {
      if (read.rows.length <= most) this.hours.set(hour, { change, sums: null, records: read, times: 1 });
      else if (known === null) this.hours.set(hour, { change, sums: null, records: null, times: 0 });
    };
    if (records !== null && !sparse) this.hours.set(hour, { change, sums, records, times: times + 1 });
    return { what: 'rows', span, hour: { since: hour * HOUR_MS, until: (hour + 1) * HOUR_MS }, kept: records, keep };
  }
}
