import type { Cell, Dictionary, WordCodec } from '../cell-codec';
import type { Transaction } from './connect';

/** There can be any number of job names and commands: a long import must not keep them all. */
const CACHED = 50_000;

/** PostgreSQL's texts can't contain NUL. */
export const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text);

interface Table {
  readonly ids: Map<string, number>;
  /** The string with the highest number that was ever in `ids`. */
  newest: { readonly id: number; readonly text: string } | null;
  /** Placeholders of strings that the transaction has asked for and that have no number yet. */
  readonly wanted: Map<string, number>;
  /** All strings with placeholders in this transaction: -1 stands for the first. */
  readonly given: string[];
}

/**
 * The dictionaries for a writer. A string without a known number gets a placeholder below 0; after `ensure`, `number`
 * gives its number. Use it in a transaction that holds the merger's lock, between `begin` and `committed`.
 */
export class Words implements WordCodec {
  private readonly tables = new Map<Dictionary, Table>();
  private isCommitted = true;

  /** Placeholders are valid for one transaction; so are the numbers that it makes, if it is rolled back. */
  async begin(db: Pick<Transaction, 'rows'>): Promise<void> {
    if (!this.isCommitted || !(await this.areValid(db))) this.tables.clear();
    this.isCommitted = false;
    for (const { ids, wanted, given } of this.tables.values()) {
      if (ids.size > CACHED) ids.clear();
      wanted.clear();
      given.length = 0;
    }
  }

  /** false: the store is in an earlier state, restored or after a failover, and gives other strings these numbers. */
  private async areValid(db: Pick<Transaction, 'rows'>): Promise<boolean> {
    const newest = [...this.tables].flatMap(([dictionary, { newest: one }]) =>
      one === null ? [] : [{ dictionary, ...one }],
    );
    if (newest.length === 0) return true;
    const names = newest.map(({ dictionary, id }) => `(SELECT name FROM qmemacct.${dictionary} WHERE id = ${id})`);
    const [row = []] = await db.rows<readonly (string | null)[]>(`SELECT ${names.join(', ')}`);
    return newest.every(({ text }, index) => row[index] === text);
  }

  intern(dictionary: Dictionary, given: string): number {
    const text = withoutNul(given);
    const table = this.table(dictionary);
    const known = table.ids.get(text) ?? table.wanted.get(text);
    if (known !== undefined) return known;
    const standing = -table.given.push(text);
    table.wanted.set(text, standing);
    return standing;
  }

  /** The number in a cell; for a placeholder the number of its string. */
  number(dictionary: Dictionary, cell: Cell): Cell {
    if (typeof cell !== 'number' || cell >= 0) return cell;
    const { ids, given } = this.table(dictionary);
    const known = ids.get(given[-cell - 1] ?? '');
    if (known === undefined) throw new RangeError(`a string of ${dictionary} has no number yet`);
    return known;
  }

  text(): never {
    throw new RangeError('a writer reads no numbers');
  }

  /** Finds or makes the numbers of the strings in `wanted`. */
  async ensure(db: Pick<Transaction, 'rows'>): Promise<void> {
    // All at once, so that no statement waits for another's answer.
    await Promise.all([...this.tables].map(([dictionary, table]) => this.fill(db, dictionary, table)));
  }

  private async fill(db: Pick<Transaction, 'rows'>, dictionary: Dictionary, table: Table): Promise<void> {
    const { ids, wanted } = table;
    if (wanted.size === 0) return;
    const texts = [...wanted.keys()];
    wanted.clear();
    const rows = await db.rows<[number, string]>(
      `WITH given AS MATERIALIZED (SELECT t FROM jsonb_array_elements_text($1::text::jsonb) AS t),
         known AS MATERIALIZED (SELECT d.id, d.name FROM given JOIN qmemacct.${dictionary} AS d ON md5(d.name) = md5(t) AND d.name = t),
         made AS (INSERT INTO qmemacct.${dictionary} (name)
           SELECT t FROM given WHERE t NOT IN (SELECT name FROM known) RETURNING id, name)
       SELECT id, name FROM known UNION ALL SELECT id, name FROM made`,
      [JSON.stringify(texts)],
    );
    for (const [id, text] of rows) {
      ids.set(text, id);
      if (id > (table.newest?.id ?? 0)) table.newest = { id, text };
    }
  }

  committed(): void {
    this.isCommitted = true;
  }

  private table(dictionary: Dictionary): Table {
    const known = this.tables.get(dictionary);
    if (known !== undefined) return known;
    const made: Table = { ids: new Map(), newest: null, wanted: new Map(), given: [] };
    this.tables.set(dictionary, made);
    return made;
  }
}
