import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Dictionary, WordCodec } from '../../src/accounting/cell-codec';
import { fromRow, toRow } from '../../src/accounting/row';
import type { Stamp, StoredRecord } from '../../src/record/merge';
import { ordinary } from '../report/sample-records';

/** Dictionaries in memory. */
function newWords(): WordCodec {
  const lists = new Map<Dictionary, string[]>();
  const listOf = (dictionary: Dictionary): string[] => {
    const list = lists.get(dictionary) ?? [];
    lists.set(dictionary, list);
    return list;
  };
  return {
    intern: (dictionary, text) => {
      const list = listOf(dictionary);
      return list.includes(text) ? list.indexOf(text) : list.push(text) - 1;
    },
    text: (dictionary, id) => listOf(dictionary)[id] ?? '',
  };
}

it('a record gives the same row whatever the order of its provenance, and the row gives it back', () => {
  const words = newWords();
  const line: Stamp = { trust: 'accounting', revision: 0, ended: true };
  const usage: Stamp = { trust: 'usage', revision: 7, ended: true };
  const stored = (provenance: StoredRecord['provenance']): StoredRecord => ({
    record: ordinary,
    ended: true,
    provenance,
  });
  const row = toRow(stored({ failed: line, project: usage, queue: line }), words);
  assert.deepEqual(toRow(stored({ queue: line, project: usage, failed: line }), words), row);
  const read = fromRow([null, null, null, ...row], 0, words);
  assert.deepEqual(read.provenance, { failed: line, project: usage, queue: line });
});
