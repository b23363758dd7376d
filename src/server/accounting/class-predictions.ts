import type { ClassFields, MemoryPrediction } from '../../report/advice/class-advice';
import { accessKey, type Access } from '../access/access';
import { cachedLookup } from '../cached-lookup';
import type { AccountingService } from './accounting-thread';

/** A user who submits a hundred jobs in a row has the accounting DB asked once. */
const KEEP_MS = 300_000;

interface Asked {
  readonly fields: ClassFields;
  readonly access: Access;
  /** The requester's key: requesters take turns. */
  readonly caller: string;
}

/** The memory to request for jobs of a kind; null: nothing is known. Rejects with HttpProblem. */
export type ClassPredictions = (asked: Asked) => Promise<MemoryPrediction | null>;

/** Predictions from the records that a kind of caller may see, kept for five minutes. */
export function newClassPredictions(accounting: AccountingService, now: () => number): ClassPredictions {
  return cachedLookup(
    async ({ fields, access, caller }: Asked): Promise<MemoryPrediction | null> => {
      const question = { what: 'prediction', query: { fields, now: now() } } as const;
      // Goes on when the caller has left: the next job of this kind may be submitted soon.
      const bytes = await accounting.ask(question, access, { key: caller, gone: null });
      return (JSON.parse(bytes.toString('utf8')) as { readonly prediction: MemoryPrediction | null }).prediction;
    },
    now,
    { keepNothingMs: KEEP_MS, nameOf: ({ fields, access }) => JSON.stringify([accessKey(access), fields]) },
  );
}
