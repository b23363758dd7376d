import type { JobRecord } from '../../../src/record/record';
import type { AccountingDesk } from '../../../src/server/accounting/accounting-thread';
import { answerQuestion } from '../../../src/server/accounting/answer-query';
import { memoryReader } from '../../accounting/memory-reader';

/** A desk that answers from records in memory, by the code of the real one. */
export function memoryDesk(records: readonly JobRecord[]): AccountingDesk {
  const reader = memoryReader(records);
  return {
    ask: async (question, sight) => Buffer.from(await answerQuestion(question, sight, reader)),
    problem: () => null,
    probe: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}
