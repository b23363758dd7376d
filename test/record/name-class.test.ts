import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nameClass } from '../../src/record/name-class';

it('nameClass replaces each number in a name by #', () => {
  assert.equal(nameClass('step_12_of_40.sh'), 'step_#_of_#.sh');
  assert.equal(nameClass('align'), 'align');
  assert.equal(nameClass('2026'), '#');
  assert.equal(nameClass(''), '');
});
