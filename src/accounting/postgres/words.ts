import type { Cell, Dictionary, WordCodec } from '../columns';
import type { Transaction } from './connect';

/** Job names and commands are of any number: a long import must not keep them all. */
const CACHED = 50_000;

/** The database's texts have no NUL. */
export const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text);

interface Table {
  readonly ids: Map<string, number>;
  /** Strings without a number that a transaction has asked for: what stands for each. */
  readonly wanted: Map<string, number>;
  /** Those, and those of before the last `ensure`: -1 stands for the first. */
  readonly given: string[];
}

/**
 * The dictionaries as a writer needs them. What stands for a string that it does not know is below 0: after `ensure`,
 * `number` says its number. Inside a transaction that holds the merger's lock, between `begin` and `committed`.
 */
export class Words implements WordCodec {
  private readonly tables = new Map<Dictionary, Table>();
  private isCommitted = true;

  /** What stands for strings holds for one transaction, and so do numbers that it made if it is rolled back. */
  begin(): void {
    if (!this.isCommitted) this.tables.clear();
    this.isCommitted = false;
    for (const { ids, wanted, given } of this.tables.values()) {
      if (ids.size > CACHED) ids.clear();
      wanted.clear();
      given.length = 0;
    }
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

  /** The number in a cell, or that of the string that it stands for. */
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

  /** Finds or makes the numbers of the strings that were asked for in vain. */
  async ensure(db: Pick<Transaction, 'rows'>): Promise<void> {
    // All at once: none waits for the answer to another.
    await Promise.all([...this.tables].map(([dictionary, table]) => this.fill(db, dictionary, table)));
  }

  private async fill(db: Pick<Transaction, 'rows'>, dictionary: Dictionary, { ids, wanted }: Table): Promise<void> {
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
    for (const [id, text] of rows) ids.set(text, id);
  }

  committed(): void {
    this.isCommitted = true;
  }

  private table(dictionary: Dictionary): Table {
    const known = this.tables.get(dictionary);
    if (known !== undefined) return known;
    const made: Table = { ids: new Map(), wanted: new Map(), given: [] };
    this.tables.set(dictionary, made);
    return made;
  }
}
