import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bracketStanding,
  describeBracket,
  explainOpen,
  explainSource,
  formatPeak,
} from '../../../src/report/format/bracket';
import type { Bracket } from '../../../src/record/record';
import { openBracket } from '../sample-records';
import { testScreen } from '../screens';

const GIB = 1024 ** 3;
const { glyphs } = testScreen();
const open = openBracket(Math.round(1.5399 * GIB), null, null);
const closed: Bracket = {
  ...open,
  lower_bytes: 1.5 * GIB,
  upper_bytes: Math.round(1.6151 * GIB),
  open: [],
  proved: true,
};

describe('describeBracket', () => {
  it('rounds a lower bound down', () => assert.equal(describeBracket(open, glyphs), '≥ 1.53 GiB'));

  it('rounds proved bounds outwards', () => assert.equal(describeBracket(closed, glyphs), '1.50 – 1.62 GiB (proved)'));

  it('calls an exact peak exact', () =>
    assert.equal(describeBracket({ ...closed, upper_bytes: 1.5 * GIB, exact: true }, glyphs), '1.50 GiB (exact)'));

  it('keeps both units where they differ', () =>
    assert.equal(describeBracket({ ...closed, lower_bytes: 900 * 1024 ** 2 }, glyphs), '900 MiB – 1.62 GiB (proved)'));

  it('does not repeat equal bounds', () =>
    assert.equal(describeBracket({ ...closed, upper_bytes: 1.5 * GIB }, glyphs), '1.50 GiB (proved)'));

  it('shows no upper bound that is only the limit', () => {
    const limited: Bracket = { ...closed, exact: true, sources: ['mark', 'limit'] };
    assert.equal(describeBracket(limited, glyphs), '≥ 1.50 GiB (up to the limit)');
    assert.deepEqual(
      [formatPeak(limited, glyphs), formatPeak(closed, glyphs), formatPeak(open, glyphs)],
      ['≥ 1.50 GiB', '1.50 GiB', '≥ 1.53 GiB'],
    );
  });

  it('calls bounds proved only if they are', () =>
    assert.equal(bracketStanding({ ...closed, proved: false }), 'estimated'));

  it('uses ASCII characters on an ASCII screen', () =>
    assert.equal(describeBracket(open, testScreen({ unicode: false }).glyphs), '>= 1.53 GiB'));
});

describe('reasons for a missing upper bound, and sources', () => {
  it('are explained in plain words', () => {
    assert.equal(
      explainOpen('no-exit-records'),
      'no kernel exit records: a process that lived between two samples may have held more',
    );
    assert.equal(explainSource('mark'), "the kernel's high-water marks");
  });
});
