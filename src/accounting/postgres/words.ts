import type { Dictionary, WordCodec } from '../columns';
import type { Transaction } from './connect';

/** Job names and commands are of any number: a long import must not keep them all. */
const CACHED = 50_000;

/** The database's texts have no NUL. */
export const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text);

/**
 * The dictionaries as a writer needs them. A string that it does not know gets 0 and is noted: after `ensure` it has its
 * number. Inside a transaction that holds the merger's lock; `forget` after a rollback.
 */
export class Words implements WordCodec {
  private readonly ids = new Map<Dictionary, Map<string, number>>();
  private readonly wanted = new Map<Dictionary, Set<string>>();

  intern(dictionary: Dictionary, given: string): number {
    const text = withoutNul(given);
    const known = this.idsOf(dictionary).get(text);
    if (known !== undefined) return known;
    const wanted = this.wanted.get(dictionary) ?? new Set();
    this.wanted.set(dictionary, wanted.add(text));
    return 0;
  }

  text(): never {
    throw new RangeError('a writer reads no numbers');
  }

  /** Whether all strings since the last `ensure` were known. */
  get complete(): boolean {
    return this.wanted.size === 0;
  }

  /** Finds or makes the numbers of the strings that were asked for in vain. */
  async ensure(db: Pick<Transaction, 'rows'>): Promise<void> {
    // All at once: none waits for the answer to another.
    await Promise.all([...this.wanted].map(([dictionary, texts]) => this.fill(db, dictionary, texts)));
    this.wanted.clear();
  }

  private async fill(db: Pick<Transaction, 'rows'>, dictionary: Dictionary, texts: ReadonlySet<string>): Promise<void> {
    const rows = await db.rows<[number, string]>(
      `WITH given AS MATERIALIZED (SELECT t FROM jsonb_array_elements_text($1::text::jsonb) AS t),
         known AS MATERIALIZED (SELECT d.id, d.name FROM given JOIN qmemacct.${dictionary} AS d ON md5(d.name) = md5(t) AND d.name = t),
         made AS (INSERT INTO qmemacct.${dictionary} (name)
           SELECT t FROM given WHERE t NOT IN (SELECT name FROM known) RETURNING id, name)
       SELECT id, name FROM known UNION ALL SELECT id, name FROM made`,
      [JSON.stringify([...texts])],
    );
    const ids = this.idsOf(dictionary);
    if (ids.size > CACHED) ids.clear();
    for (const [id, text] of rows) ids.set(text, id);
  }

  forget(): void {
    this.ids.clear();
    this.wanted.clear();
  }

  private idsOf(dictionary: Dictionary): Map<string, number> {
    const known = this.ids.get(dictionary);
    if (known !== undefined) return known;
    const made = new Map<string, number>();
    this.ids.set(dictionary, made);
    return made;
  }
}
