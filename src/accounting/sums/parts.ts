import { DIMENSIONS, type SummaryQuery } from '../summary';
import { HourSums, isChosen, type HourChoice } from './hour-sums';
import type { Changes, HourRecords, KeptHours, Piece } from './kept-hours';
import type { Span } from './periods';
import type { SumPlan } from './plan';
import { DaySums } from './roll-up';
import type { EarlierRow, FactRow, SummaryBuilder } from './summer';

/** What a store must read; each record goes to `add`. */
export type Reading = {
  readonly span: Span;
  /** All records, with their keys of all DIMENSIONS; else those of the query, with the key that it groups by. */
  readonly all: boolean;
} & (
  | { readonly what: 'records'; readonly add: (row: FactRow) => void }
  /** Records from `since` to the span's beginning, of jobs with a record in the span. */
  | { readonly what: 'earlier'; readonly since: number; readonly add: (row: EarlierRow) => void }
);

/** Adds those parts of a plan that its roll-ups do not answer, from kept hours as far as these are up to date. */
export class PartsSum {
  private readonly choice: HourChoice;
  private readonly keyAt: number;

  constructor(
    private readonly query: SummaryQuery,
    private readonly plan: SumPlan,
    private readonly summer: SummaryBuilder,
  ) {
    const { by, cluster = null } = query;
    this.keyAt = by === 'day' || by === 'cluster' ? 0 : DIMENSIONS.indexOf(by);
    this.choice = { set: plan.rolled?.set ?? 0, key: plan.rolled?.key ?? null, within: null, cluster };
  }

  /** The store must read what this yields before it asks for the next. */
  *readings(kept: KeptHours, changes: Changes): Generator<Reading, void> {
    // An index finds a user's records.
    const sparse = this.query.owner !== undefined;
    for (const piece of kept.piecesOf(this.plan.parts, changes, sparse)) yield* this.readingsOf(piece);
  }

  private *readingsOf(piece: Piece): Generator<Reading, void> {
    if (piece.what === 'sums') yield* this.addSums(piece);
    else if (piece.what === 'rows') yield* this.addRows(piece);
    else {
      const add = (row: FactRow): void => {
        this.summer.addRecord(row);
      };
      this.summer.endPart(yield* this.read(piece.span, false, add));
    }
  }

  /** Reads the records of a span; returns the earlier records of their jobs. */
  private *read(span: Span, all: boolean, add: (row: FactRow) => void): Generator<Reading, readonly EarlierRow[]> {
    yield { what: 'records', span, all, add };
    const earlier: EarlierRow[] = [];
    const since = all ? 0 : this.query.since;
    yield { what: 'earlier', span, all, since, add: (row) => void earlier.push(row) };
    return earlier;
  }

  private *addSums({ span, kept, records, keep }: Piece & { readonly what: 'sums' }): Generator<Reading, void> {
    let sums = kept;
    if (sums === null) {
      const { rows, earlier } = records ?? (yield* this.readAll(span));
      const made = new DaySums();
      for (const row of rows) made.add(row);
      sums = new HourSums(made, earlier);
      keep(sums);
    }
    this.summer.addHour(span, sums, this.choice);
  }

  private *readAll(span: Span): Generator<Reading, HourRecords> {
    const rows: FactRow[] = [];
    return { rows, earlier: yield* this.read(span, true, (row) => void rows.push(row)) };
  }

  private *addRows({ span, hour, kept, keep }: Piece & { readonly what: 'rows' }): Generator<Reading, void> {
    let records = kept;
    if (records === null) {
      records = yield* this.readAll(hour);
      keep(records);
    }
    for (const row of records.rows)
      if (row.countedAt >= span.since && row.countedAt < span.until && isChosen(row, this.choice))
        this.summer.addRecord(row, this.keyAt);
    const counted = (row: EarlierRow): boolean => row.countedAt >= this.query.since && isChosen(row, this.choice);
    this.summer.endPart(records.earlier.filter(counted), this.keyAt);
  }
}
