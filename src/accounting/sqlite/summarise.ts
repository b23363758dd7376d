import type { Database } from 'better-sqlite3';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../summary';
import { summaryAnswer } from '../summary-answer';
import { addRolled } from './add-rolled';
import type { Words } from './dictionary';
import { readSpans } from './read-spans';
import { conditionOf } from './record-filter';
import { newBoard } from './summary-board';
import { planOf } from './summary-plan';

/** Sums over an interval, by roll-ups as far as these hold; inside one transaction. */
export function summarise(db: Database, words: Words, query: SummaryQuery): SummaryAnswer {
  const board = newBoard();
  const condition = conditionOf(query, words);
  if (condition !== null) {
    const plan = planOf(db, query, condition);
    readSpans(db, words, query, condition, plan, board);
    if (plan.rolled) addRolled(db, words, query, condition, plan, board);
  }
  const groups = [...board.groups].map(([key, totals]): SummaryGroup => ({ key, totals }));
  return summaryAnswer({ ...board, groups }, query);
}
