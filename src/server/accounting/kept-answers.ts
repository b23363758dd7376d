import { accessKey, type Access } from '../access/access';

const KEEP_NOTHING_MS = 30_000;

interface Kept<T> {
  until: number;
  readonly answer: Promise<T | null>;
}

/** An answer of the accounting DB for each kind of caller: who scrapes every few seconds does not have it read each time. */
export class KeptAnswers<T> {
  readonly #kept = new Map<string, Kept<T>>();

  constructor(
    private readonly ask: (access: Access, now: number) => Promise<T>,
    private readonly keepMs: number,
    private readonly now: () => number,
  ) {}

  /** null: the accounting DB does not answer. Never rejects. */
  get(access: Access): Promise<T | null> {
    const key = accessKey(access);
    const known = this.#kept.get(key);
    if (known !== undefined && this.now() < known.until) return known.answer;
    for (const [old, { until }] of this.#kept) if (this.now() >= until) this.#kept.delete(old);
    // The server logs that the accounting DB can't be read, and /metrics says so.
    const kept: Kept<T> = { until: Infinity, answer: this.ask(access, this.now()).catch(() => null) };
    this.#kept.set(key, kept);
    void kept.answer.then((answer) => (kept.until = this.now() + (answer === null ? KEEP_NOTHING_MS : this.keepMs)));
    return kept.answer;
  }
}
