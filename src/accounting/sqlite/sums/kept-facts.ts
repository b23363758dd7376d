import type { Database } from 'better-sqlite3';
import type { Span } from '../../sums/periods';
import type { EarlierRow, FactRow } from '../../sums/summer';
import { prepared } from '../database/prepared';
import type { Condition } from '../read/record-filter';
import type { FactReader } from './record-facts';

/** Parts of days, mostly of today: pages and reports sum the same ones by one thing after the other. */
const MOST_PARTS = 8;
/** About 10 MB for each part. */
const MOST_ROWS = 20_000;

interface Part {
  readonly rows: readonly FactRow[];
  earlier: { readonly since: number; readonly rows: readonly EarlierRow[] } | null;
}

/** What was read of parts of days, as long as the store stays as it is. */
export class KeptFacts {
  private readonly parts = new Map<string, Part>();
  private version = '';

  private constructor(private readonly db: Database) {}

  private static readonly ofStore = new WeakMap<Database, KeptFacts>();

  static of(db: Database): KeptFacts {
    const known = KeptFacts.ofStore.get(db);
    if (known !== undefined) return known;
    const made = new KeptFacts(db);
    KeptFacts.ofStore.set(db, made);
    return made;
  }

  /** As `facts.records`, inside one transaction with `earlier`; `keeps` false: new ones are not kept. */
  *records(facts: FactReader, condition: Condition, span: Span, keeps: boolean): Generator<FactRow, void> {
    this.forgetChanged();
    const key = keyOf(condition, span);
    const known = this.parts.get(key);
    if (known !== undefined) {
      yield* known.rows;
      return;
    }
    if (!keeps) {
      yield* facts.records(condition, span);
      return;
    }
    const rows: FactRow[] = [];
    for (const row of facts.records(condition, span)) {
      if (rows.length <= MOST_ROWS) rows.push(row);
      yield row;
    }
    if (rows.length > MOST_ROWS) return;
    for (const oldest of this.parts.keys()) {
      if (this.parts.size < MOST_PARTS) break;
      this.parts.delete(oldest);
    }
    this.parts.set(key, { rows, earlier: null });
  }

  /** As `facts.earlier`, after `records` of the same part. */
  earlier(facts: FactReader, condition: Condition, span: Span, since: number, keeps: boolean): readonly EarlierRow[] {
    const part = this.parts.get(keyOf(condition, span));
    if (part?.earlier?.since === since) return part.earlier.rows;
    const rows = facts.earlier(condition, span, since);
    if (part !== undefined && keeps) part.earlier = { since, rows };
    return rows;
  }

  /** `data_version` changes with what others commit, `total_changes` with what this connection writes. */
  private forgetChanged(): void {
    const others = Number(this.db.pragma('data_version', { simple: true }));
    const own = prepared<[], number>(this.db, 'SELECT total_changes()', 'pluck').get() ?? 0;
    const version = `${others} ${own}`;
    if (version !== this.version) this.parts.clear();
    this.version = version;
  }
}

const keyOf = ({ sql, parameters }: Condition, { since, until }: Span): string =>
  JSON.stringify([sql, parameters, since, until]);
