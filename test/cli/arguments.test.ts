import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { furtherBack, parseInterval, parseTimeArgument } from '../../src/cli/arguments';

process.env.TZ = 'Europe/Berlin';

const now = new Date('2026-11-20T14:30:00+01:00');
const at = (text: string, then = now): string => parseTimeArgument('--since', text, then).toISOString();

describe('parseTimeArgument', () => {
  it('counts back from now in weeks, days, hours and minutes', () => {
    assert.equal(at('7d'), '2026-11-13T13:30:00.000Z');
    assert.equal(at('2w'), '2026-11-06T13:30:00.000Z');
    assert.equal(at('12h'), '2026-11-20T01:30:00.000Z');
    assert.equal(at('30m'), '2026-11-20T13:00:00.000Z');
    assert.equal(at('0d'), now.toISOString());
  });

  it('reads today, yesterday and now', () => {
    assert.equal(at('today'), '2026-11-19T23:00:00.000Z');
    assert.equal(at('yesterday'), '2026-11-18T23:00:00.000Z');
    assert.equal(at('now'), now.toISOString());
  });

  it('reads days and times in the local zone unless they name another', () => {
    assert.equal(at('2026-11-01'), '2026-10-31T23:00:00.000Z');
    assert.equal(at('2026-11-01 08:00'), '2026-11-01T07:00:00.000Z');
    assert.equal(at('2026-07-01T08:00:30'), '2026-07-01T06:00:30.000Z');
    assert.equal(at('2026-11-01T08:00Z'), '2026-11-01T08:00:00.000Z');
    assert.equal(at('2026-11-01 08:00-05:00'), '2026-11-01T13:00:00.000Z');
    assert.equal(at(' 2026-11-01 '), '2026-10-31T23:00:00.000Z');
  });

  it('counts days in local time across a daylight saving change, and hours in elapsed time', () => {
    const spring = new Date('2026-03-29T12:00:00+02:00');
    assert.equal(at('1d', spring), '2026-03-28T11:00:00.000Z');
    assert.equal(at('24h', spring), '2026-03-28T10:00:00.000Z');
    assert.equal(at('yesterday', spring), '2026-03-27T23:00:00.000Z');
    assert.equal(at('today', spring), '2026-03-28T23:00:00.000Z');
    const autumn = new Date('2026-10-25T12:00:00+01:00');
    assert.equal(at('1w', autumn), '2026-10-18T10:00:00.000Z');
    assert.equal(at('24h', autumn), '2026-10-24T11:00:00.000Z');
    assert.equal(at('today', autumn), '2026-10-24T22:00:00.000Z');
  });

  it('accepts a time of day that the clocks skip or repeat', () => {
    assert.equal(at('2026-03-29 02:30'), '2026-03-29T01:30:00.000Z');
    assert.match(at('2026-10-25 02:30'), /^2026-10-25T0[01]:30:00\.000Z$/);
  });

  it('names the option and the accepted forms in its error', () => {
    const message = `--since: "7x" is not a time; write 7d, 12h, today, yesterday, 2026-11-01 or '2026-11-01 08:00'`;
    assert.throws(() => at('7x'), { message, status: 2 });
  });

  it('refuses text that is not a time', () => {
    for (const text of [
      '',
      '-7d',
      '7',
      'd',
      '7 d',
      '2026-02-30',
      '2026-13-01',
      '2026-11-01 25:00',
      '2026-1-1',
      'tomorrow',
      '9999999d',
      '20261101',
      '1e3d',
      'constructor',
    ])
      assert.throws(() => at(text), { status: 2 }, text);
  });

  it('gives a valid date or a usage error, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9]{1,7}[mhdw]$/)), (text) => {
        try {
          assert.ok(!Number.isNaN(parseTimeArgument('--since', text, now).getTime()));
        } catch (error) {
          assert.equal((error as { status?: number }).status, 2);
        }
      }),
    );
  });
});

describe('parseInterval', () => {
  it('ends now unless --until is given', () => {
    assert.deepEqual(parseInterval('7d', undefined, now), { since: new Date('2026-11-13T13:30:00Z'), until: now });
  });

  it('is half-open: a day ends where the next begins', () => {
    const { since, until } = parseInterval('yesterday', 'today', now);
    assert.equal(until.getTime() - since.getTime(), 86_400_000);
  });

  it('refuses an empty interval', () => {
    assert.throws(() => parseInterval('today', 'yesterday', now), {
      message: '--since today is not before --until yesterday: nothing lies between them',
      status: 2,
    });
    assert.throws(() => parseInterval('2027-01-01', undefined, now), { status: 2 });
  });
});

describe('furtherBack', () => {
  it('hints at --since 30d only for an interval that begins later than that', () => {
    const hintOf = (since: string, until?: string): string => furtherBack(parseInterval(since, until, now).since, now);
    for (const [since, until] of [['7d'], ['today'], ['20d', '10d']] as const)
      assert.equal(hintOf(since, until), '; --since 30d looks further back');
    for (const [since, until] of [['30d'], ['365d'], ['60d', '50d']] as const) assert.equal(hintOf(since, until), '');
  });
});
