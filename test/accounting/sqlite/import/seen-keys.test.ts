import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seenKeys } from '../../../../src/accounting/sqlite/import/seen-keys';
import { SqliteDatabase } from '../../../../src/native/sqlite';

type Key = readonly [number, number | null, string | null];

function table() {
  const db = new SqliteDatabase(':memory:');
  db.exec('CREATE TABLE record (id INTEGER PRIMARY KEY, job_id INTEGER, task_id INTEGER, pe_task_id TEXT)');
  db.exec('CREATE INDEX record_by_job ON record (job_id, task_id, pe_task_id)');
  const insert = db.prepare('INSERT INTO record (job_id, task_id, pe_task_id) VALUES (?, ?, ?)');
  return { db, insert: (key: Key) => void insert.run(...key) };
}

const orNull = <T>(value: fc.Arbitrary<T>, freq: number): fc.Arbitrary<T | null> => fc.option(value, { freq });
const key: fc.Arbitrary<Key> = fc.tuple(
  fc.integer({ min: 1, max: 9_999_999 }),
  orNull(fc.integer({ min: 1, max: 75_000 }), 1),
  orNull(fc.constantFrom('1.ge1', '2.ge1', '10.node7.example'), 3),
);

describe('seenKeys', () => {
  it('never misses a record, whichever process stored it', () => {
    fc.assert(
      fc.property(
        fc.array(key),
        fc.array(fc.record({ ours: fc.array(key), theirs: fc.array(key), undone: fc.boolean() }), { maxLength: 6 }),
        (before, rounds) => {
          const { db, insert } = table();
          before.forEach(insert);
          const present = [...before];
          const seen = seenKeys(db);
          for (const { ours, theirs, undone } of rounds) {
            seen.refresh();
            if (undone) {
              for (const one of ours) seen.add(...one);
              seen.forget();
            } else {
              for (const one of ours) {
                insert(one);
                seen.add(...one);
                present.push(one);
              }
              seen.settle();
            }
            theirs.forEach(insert);
            present.push(...theirs);
            seen.refresh();
            for (const one of present) assert.equal(seen.mayHave(...one), true);
          }
          db.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('excludes most keys that are not stored', () => {
    const { db, insert } = table();
    const seen = seenKeys(db);
    seen.refresh();
    assert.equal(seen.mayHave(1, null, null), false);
    for (let job = 1; job <= 20_000; job++) {
      insert([job, null, null]);
      seen.add(job, null, null);
    }
    seen.settle();
    let wrong = 0;
    for (let job = 20_001; job <= 40_000; job++) if (seen.mayHave(job, null, null)) wrong++;
    assert.ok(wrong < 1000, `${wrong} of 20,000 jobs would be looked for`);
    db.close();
  });

  it('reads a filled store only after many questions', () => {
    const { db, insert } = table();
    for (let job = 1; job <= 1000; job++) insert([job, null, null]);
    const seen = seenKeys(db);
    seen.refresh();
    for (let job = 2001; job <= 2050; job++) assert.equal(seen.mayHave(job, null, null), true);
    seen.refresh();
    for (let job = 2051; job <= 2100; job++) assert.equal(seen.mayHave(job, null, null), true);
    seen.refresh();
    assert.equal(seen.mayHave(999, null, null), true);
    assert.equal(
      Array.from({ length: 100 }, (_, at) => seen.mayHave(5000 + at, null, null)).filter(Boolean).length < 20,
      true,
    );
    db.close();
  });
});
