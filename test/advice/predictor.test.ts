import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Predictor } from '../../src/advice/predictor';
import { MEMORY_PRIOR } from '../../src/advice/prior';

const MIB = 2 ** 20;
const NOT_STOPPED = null;

/** A predictor that learned `peaks` of one class, each before the next job was submitted. */
function learned(peaks: readonly number[], name = 'a'): Predictor {
  const predictor = new Predictor(MEMORY_PRIOR);
  for (const needed of peaks) predictor.learn(predictor.known([name]), { needed, stoppedAt: NOT_STOPPED });
  return predictor;
}

function requestAt(predictor: Predictor, risk: number, classes: readonly string[] = ['a']) {
  return predictor.advisable(predictor.known(classes))?.request(risk) ?? null;
}

/** Pseudo-random numbers from 0 to 1, the same for the same seed (Park and Miller). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe('the request for the next run', () => {
  it('is unknown below three runs', () => {
    assert.equal(requestAt(learned([]), 0.2), null);
    assert.equal(requestAt(learned([MIB, MIB]), 0.2), null);
    assert.notEqual(requestAt(learned([MIB, MIB, MIB]), 0.2), null);
  });

  it('states a risk of 1 % from six runs on, and a larger one before', () => {
    const five = requestAt(learned(Array<number>(5).fill(100 * MIB)), 0.01);
    assert.ok(five !== null && five.risk > 0.01, String(five?.risk));
    assert.equal(requestAt(learned(Array<number>(6).fill(100 * MIB)), 0.01)?.risk, 0.01);
    const many = requestAt(learned(Array<number>(60).fill(100 * MIB)), 0.01);
    assert.equal(many?.risk, 0.01);
    assert.ok(many.amount >= 100 * MIB && many.amount < 120 * MIB, String(many.amount / MIB));
  });

  it('takes more risk only if that wastes less', () => {
    const random = randomNumbers(7);
    const alike = learned(Array.from({ length: 100 }, () => (180 + 20 * random()) * MIB));
    assert.deepEqual(requestAt(alike, 0.1), requestAt(alike, 0.01));
    const fewLarger = learned(Array.from({ length: 100 }, (_none, run) => (run % 25 === 7 ? 150 : 100) * MIB));
    const [low, high] = [requestAt(fewLarger, 0.01), requestAt(fewLarger, 0.1)];
    assert.ok(low !== null && high !== null && low.amount > high.amount && low.risk < high.risk);
  });

  it('rests only on newer runs if a larger risk is allowed', () => {
    const changed = learned(Array.from({ length: 300 }, (_none, run) => (run < 200 ? 1000 : 100) * MIB));
    const [low, high] = [requestAt(changed, 0.01), requestAt(changed, 0.05)];
    assert.ok(low !== null && low.amount >= 1000 * MIB, String(low?.amount));
    assert.ok(high !== null && high.amount < 200 * MIB, String(high?.amount));
  });

  it('rests on the narrowest class that has enough runs', () => {
    const predictor = new Predictor(MEMORY_PRIOR);
    const learn = (classes: readonly string[], mib: number): void =>
      predictor.learn(predictor.known(classes), { needed: mib * MIB, stoppedAt: NOT_STOPPED });
    for (let run = 0; run < 10; run++) learn(['narrow', 'wide'], 100);
    for (let run = 0; run < 10; run++) learn(['other', 'wide'], 800);
    const [narrow, wide] = [requestAt(predictor, 0.1, ['narrow', 'wide']), requestAt(predictor, 0.1, ['new', 'wide'])];
    assert.ok(narrow !== null && narrow.amount < 200 * MIB);
    assert.ok(wide !== null && wide.amount >= 800 * MIB);
  });

  it('is above the limit at which a run was stopped', () => {
    const predictor = learned(Array<number>(20).fill(100 * MIB));
    predictor.learn(predictor.known(['a']), { needed: 100 * MIB, stoppedAt: 200 * MIB });
    const request = requestAt(predictor, 0.01);
    assert.ok(request === null || request.amount >= 300 * MIB, String(request?.amount));
  });

  it('is unknown while more than half of the last 200 runs were stopped at a limit', () => {
    const predictor = new Predictor(MEMORY_PRIOR);
    const learn = (count: number, stoppedAt: number | null): void => {
      for (let run = 0; run < count; run++) predictor.learn(predictor.known(['a']), { needed: 100 * MIB, stoppedAt });
    };
    const isMostlyStopped = (): boolean | undefined => predictor.advisable(predictor.known(['a']))?.isMostlyStopped;
    learn(30, 100 * MIB);
    learn(29, NOT_STOPPED);
    assert.deepEqual([requestAt(predictor, 0.2), isMostlyStopped()], [null, true]);
    learn(1, NOT_STOPPED);
    assert.equal(isMostlyStopped(), false);
    assert.notEqual(requestAt(predictor, 0.2), null);
    // Of more than 200 runs the last 200 count.
    learn(200, 100 * MIB);
    learn(99, NOT_STOPPED);
    assert.equal(isMostlyStopped(), true);
    learn(1, NOT_STOPPED);
    assert.equal(isMostlyStopped(), false);
  });

  for (const wanted of [0.02, 0.05, 0.1])
    it(`fails no more often than stated at a risk of ${wanted}, and is little above the largest need, for similar runs`, () => {
      const random = randomNumbers(11);
      const predictor = new Predictor(MEMORY_PRIOR);
      let [predicted, stated, failed, above] = [0, 0, 0, 0];
      for (let run = 0; run < 20_000; run++) {
        const name = `class ${run % 100}`;
        const needed = (100 + (run % 100) + 20 * random()) * MIB;
        const known = predictor.known([name]);
        const request = predictor.advisable(known)?.request(wanted) ?? null;
        if (request !== null && request.risk <= wanted) {
          predicted++;
          stated += request.risk;
          if (needed > request.amount) failed++;
          above += request.amount / ((120 + (run % 100)) * MIB);
        }
        predictor.learn(known, { needed, stoppedAt: NOT_STOPPED });
      }
      assert.ok(predicted > 15_000, `predicted ${predicted}`);
      assert.ok(failed < 1.2 * stated, `failed ${failed}, stated ${stated}`);
      assert.ok(above < 1.05 * predicted, `${above / predicted} of the most that such runs need`);
    });
});

describe('job classes with the same runs', () => {
  it('learn the same as each class would alone, also after they differ by a run', () => {
    const names = ['a', 'b', 'c', 'd'] as const;
    const run = fc.record({
      classes: fc.subarray([...names], { minLength: 1 }),
      mib: fc.integer({ min: 1, max: 50 }),
      /** The number of further submissions after which the run ends. */
      lasts: fc.nat(5),
    });
    const groups = fc.array(
      run.chain((one) => fc.array(fc.constant(one), { maxLength: 40 })),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(groups, (runs) => {
        const together = new Predictor(MEMORY_PRIOR);
        const alone = new Map(names.map((name) => [name, new Predictor(MEMORY_PRIOR)]));
        const ends: { readonly at: number; readonly end: () => void }[] = [];
        for (const [at, { classes, mib, lasts }] of runs.flat().entries()) {
          for (const { end } of ends.filter((one) => one.at === at)) end();
          const known = together.known(classes);
          const each = classes.map((name) => [alone.get(name) ?? together, name] as const);
          const knownEach = each.map(([predictor, name]) => predictor.known([name]));
          assert.deepEqual(
            known.map(({ then }) => then),
            knownEach.map(([one]) => one?.then),
          );
          const need = { needed: mib * MIB, stoppedAt: mib % 7 === 0 ? mib * MIB : null };
          const end = (): void => {
            together.learn(known, need);
            each.forEach(([predictor], index) => predictor.learn(knownEach[index] ?? [], need));
          };
          ends.push({ at: at + 1 + lasts, end });
        }
        for (const [name, predictor] of alone)
          for (const risk of [0.01, 0.05, 0.2])
            assert.deepEqual(requestAt(together, risk, [name]), requestAt(predictor, risk, [name]));
      }),
    );
  });
});
