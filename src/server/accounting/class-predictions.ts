import type { ClassFields, MemoryPrediction } from '../../report/advice/class-advice';
import { accessKey, type Access } from '../access/access';
import { cachedLookup } from '../cached-lookup';
import type { AccountingService } from './accounting-thread';

/** Who submits a hundred jobs one after the other has the accounting DB asked once. */
const KEEP_MS = 300_000;

interface Asked {
  readonly fields: ClassFields;
  readonly access: Access;
  /** Whose turn it is. */
  readonly caller: string;
}

/** The memory to request for jobs of a kind; null: nothing is known. Rejects with HttpProblem. */
export type ClassPredictions = (asked: Asked) => Promise<MemoryPrediction | null>;

/** By what each kind of caller may see, read once in five minutes. */
export function newClassPredictions(accounting: AccountingService, now: () => number): ClassPredictions {
  return cachedLookup(
    async ({ fields, access, caller }: Asked): Promise<MemoryPrediction | null> => {
      const question = { what: 'prediction', query: { fields, now: now() } } as const;
      // To its end even where the caller has left: it may come back with the next job of this kind.
      const bytes = await accounting.ask(question, access, { key: caller, gone: null });
      return (JSON.parse(bytes.toString('utf8')) as { readonly prediction: MemoryPrediction | null }).prediction;
    },
    now,
    { keepNothingMs: KEEP_MS, nameOf: ({ fields, access }) => JSON.stringify([accessKey(access), fields]) },
  );
}
