import type { NodeHeartbeat } from '../../../src/record/node-status';
import type { JobRecord } from '../../../src/record/record';
import type { AccountingService } from '../../../src/server/accounting/accounting-thread';
import { answerQuery } from '../../../src/server/accounting/answer-query';
import { memoryReader } from '../../accounting/memory-reader';

/** An accounting service with records in memory that answers by the real code. */
export function memoryAccounting(
  records: readonly JobRecord[],
  heartbeats: readonly NodeHeartbeat[] = [],
): AccountingService {
  const reader = memoryReader(records, [], heartbeats);
  return {
    ask: async (question, access) => Buffer.from(await answerQuery(question, access, reader)),
    problem: () => null,
    probe: () => Promise.resolve(),
    stop: () => Promise.resolve(),
  };
}
