import { boolean, checkJson, integer, nullable, number, object, oneOf, string, type Shape } from '../../base/shape';
import type { ClassFields, MemoryPromise } from '../../report/advice/class-advice';
import { accessKey, type Access } from '../access/access';
import type { AccountingService } from './accounting-thread';

/** Who submits a hundred jobs one after the other has the accounting DB asked once. */
const KEEP_MS = 300_000;
const MOST_KEPT = 10_000;

const promise: Shape<MemoryPromise> = object({
  complex: string,
  text: string,
  per: oneOf(['slot', 'job']),
  amount: number(),
  risk: nullable(number(0, 1)),
  runs: integer(0),
  largest: number(),
  predictions: integer(0),
  failed: integer(0),
  sameProgram: boolean,
  countedOnly: integer(0),
});
const answerShape = object({ promise: nullable(promise) });

interface Kept {
  readonly until: number;
  readonly promise: Promise<MemoryPromise | null>;
}

/** The memory to request for jobs of a kind, by what each kind of caller may see, read once in five minutes. */
export class ClassPromises {
  readonly #kept = new Map<string, Kept>();

  constructor(
    private readonly accounting: AccountingService,
    private readonly now: () => number,
  ) {}

  /** null: nothing is known. `caller`: whose turn it is. Rejects with HttpProblem. */
  async of(fields: ClassFields, access: Access, caller: string): Promise<MemoryPromise | null> {
    const key = JSON.stringify([accessKey(access), fields]);
    const known = this.#kept.get(key);
    if (known !== undefined && this.now() < known.until) return known.promise;
    for (const [old, { until }] of this.#kept) {
      if (this.now() < until && this.#kept.size < MOST_KEPT) break;
      this.#kept.delete(old);
    }
    this.#kept.delete(key);
    const asked = this.#ask(fields, access, caller);
    this.#kept.set(key, { until: this.now() + KEEP_MS, promise: asked });
    asked.catch(() => this.#kept.delete(key));
    return asked;
  }

  /** To its end even where the caller has left: it may come back with the next job of this kind. */
  async #ask(fields: ClassFields, access: Access, key: string): Promise<MemoryPromise | null> {
    const question = { what: 'promise', query: { fields, now: this.now() } } as const;
    const json = (await this.accounting.ask(question, access, { key, gone: null })).toString('utf8');
    const answer = checkJson(answerShape, json, 'the answer of the accounting DB');
    if (!answer.ok) throw new Error(answer.error);
    return answer.value.promise;
  }
}
