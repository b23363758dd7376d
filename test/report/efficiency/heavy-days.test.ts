import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { heavyDays, type DayWeight } from '../../../src/report/efficiency/heavy-days';

const DAY = 86_400_000;
const FIRST = Date.parse('2026-11-01');
const dayOf = (index: number): string => new Date(FIRST + index * DAY).toISOString().slice(0, 10);

describe('heavyDays', () => {
  it('takes the whole period where it has few records', () => {
    const period = { since: FIRST + 5, until: FIRST + 2 * DAY };
    const weights = [0, 1].map((index) => ({ day: dayOf(index), weight: index + 1, records: 10 }));
    assert.deepEqual(heavyDays(weights, period, 20), { spans: [period], days: null });
  });

  it('takes no day where no day has any weight', () => {
    const weights = [{ day: dayOf(0), weight: 0, records: 10 }];
    assert.deepEqual(heavyDays(weights, { since: FIRST, until: FIRST + DAY }, 5), { spans: [], days: null });
  });

  it('takes the heaviest days within the budget, and joins neighbouring days', () => {
    const weights = [3, 5, 4, 1].map((weight, index) => ({ day: dayOf(index), weight, records: 10 }));
    assert.equal(heavyDays(weights, { since: FIRST, until: FIRST + 4 * DAY }, 39).days?.length, 3);
    assert.deepEqual(heavyDays(weights, { since: FIRST, until: FIRST + 4 * DAY }, 20), {
      spans: [{ since: FIRST + DAY, until: FIRST + 3 * DAY }],
      days: [dayOf(1), dayOf(2)],
    });
  });

  it('exceeds the budget only for a single day, and stays within the period', () => {
    const weight = fc.record({ weight: fc.nat(9), records: fc.nat(50) });
    fc.assert(
      fc.property(fc.array(weight, { maxLength: 30 }), fc.nat(200), fc.nat(DAY - 1), (days, budget, offset) => {
        const weights = days.map((day, index): DayWeight => ({ ...day, day: dayOf(index) }));
        const period = { since: FIRST + offset, until: FIRST + days.length * DAY + 1 };
        const { spans, days: chosen } = heavyDays(weights, period, budget);
        spans.forEach(({ since, until }, index) => {
          assert.ok(since >= period.since && until <= period.until && since < until);
          assert.ok(since > (spans[index - 1]?.until ?? 0));
        });
        const read = weights.filter(({ day }) => chosen?.includes(day)).reduce((sum, { records }) => sum + records, 0);
        assert.ok(read <= budget || chosen?.length === 1);
        assert.ok((chosen?.length ?? 0) <= 3);
      }),
    );
  });
});
