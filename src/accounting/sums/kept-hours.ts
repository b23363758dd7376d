import { HOUR_MS } from '../../base/units';
import { Latest } from '../../base/latest';
import type { HourSums } from './hour-sums';
import { dayOf, hourOf, HOURS_OF_DAY, type Span } from './periods';
import type { EarlierRow, FactRow } from './summer';

/** Hours that stay: of today and yesterday. A hundred thousand records a day take 2 MB each. */
const MOST_HOURS = 60;
/** Of days before these latest ones, as after a long import, each record is read each time. */
const MOST_DAYS = 2;
/** Of an hour of which a part is asked for: about 10 MB. */
const MOST_ROWS = 20_000;
/** Of each of the other hours: as many hours take 60 MB. */
const MOST_ROWS_EACH = 2_000;
/** Sums of an hour take as long as some questions that add up its records: a report has four of them. */
const ROWS_TIMES = 8;

/** Numbers that are others after each change. */
export interface Changes {
  /** Of hours of which records have changed since their day was summed up. */
  readonly hours: ReadonlyMap<number, number>;
  /** Of days that have been summed up: their other hours are as they were then. */
  readonly days: ReadonlyMap<number, number>;
  /** Hours with records that wait in an inbox, as they are with this change; null: they can't be kept. */
  readonly unsettled?: { readonly hours: ReadonlySet<number>; readonly change: number | null };
}

function changeOf({ hours, days, unsettled }: Changes, hour: number): number | string | undefined {
  if (unsettled?.hours.has(hour) === true) return unsettled.change === null ? undefined : `waiting ${unsettled.change}`;
  return hours.get(hour) ?? days.get(Math.floor(hour / HOURS_OF_DAY));
}

/** Of an hour; without sums and records: it has been read before, and has too many records. */
interface Kept {
  readonly change: number | string;
  readonly sums: HourSums | null;
  readonly records: HourRecords | null;
  /** How often the records have answered what is not sparse. */
  readonly times: number;
}

/** All records of an hour, and those of before it of their jobs. */
export interface HourRecords {
  readonly rows: readonly FactRow[];
  readonly earlier: readonly EarlierRow[];
}

/** A part of a day: the sums of an hour, or records of it, as they are kept or to be kept; or records that are not kept. */
export type Piece =
  | {
      readonly what: 'sums';
      readonly span: Span;
      readonly kept: HourSums | null;
      /** What they are made from, where that is kept. */
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
 * What a reader keeps of hours of days that are not summed up, so that pages and reports, which sum the same ones by one
 * thing after the other, read only what has changed since.
 */
export class KeptHours {
  private readonly hours = new Latest<number, Kept>(MOST_HOURS);

  /** The pieces of the parts of a plan. `sparse`: an index finds the few records that are wanted. */
  piecesOf(parts: readonly Span[], changes: Changes, sparse: boolean): readonly Piece[] {
    const lastDay = dayOf(parts.at(-1)?.since ?? 0);
    return parts.flatMap((part): readonly Piece[] =>
      dayOf(part.since) <= lastDay - MOST_DAYS ? [{ what: 'read', span: part }] : this.pieces(part, changes, sparse),
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

  /** null: the records are to be read. `brief`: what is made of them is soon of no use. */
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
