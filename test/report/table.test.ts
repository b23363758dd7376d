import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderTable } from '../../src/report/table';
import { testScreen } from './screens';

const screen = testScreen();

describe('renderTable', () => {
  it('aligns, also beside wide characters and colours', () => {
    const coloured = testScreen({ colour: true });
    const lines = renderTable(
      [{ head: 'name' }, { head: 'n', align: 'right' }, { head: 'end' }],
      [
        ['日本', '5', coloured.style.bad('x')],
        ['a', '1,234', 'y'],
      ],
      screen,
    );
    assert.deepEqual(lines, ['name      n  end', `日本      5  ${coloured.style.bad('x')}`, 'a     1,234  y']);
  });

  it('has no head where every head is empty, no lines without rows, no columns without content', () => {
    assert.deepEqual(renderTable([{ head: '' }, { head: '' }], [['a', 'b']], screen), ['a  b']);
    assert.deepEqual(renderTable([{ head: 'x' }], [], screen), []);
    assert.deepEqual(renderTable([{ head: 'x' }, { head: 'empty' }], [['a', '']], screen), ['x', 'a']);
  });

  it('aligns thousands of lines, quickly', () => {
    const rows = Array.from({ length: 5000 }, (_, index) => [String(index), 'x']);
    const lines = renderTable([{ head: 'n', align: 'right' }, { head: '' }], rows, screen);
    assert.equal(lines.length, 5001);
    assert.deepEqual([lines[0], lines[1], lines[5000]], ['   n', '   0  x', '4999  x']);
  });

  it('shrinks first, then leaves out what is dispensable', () => {
    const columns = [
      { head: 'name', shrinksTo: 5 },
      { head: 'a', dispensable: 1 },
      { head: 'b', dispensable: 2 },
    ];
    const rows = [['a-long-name', 'aaaa', 'bbbb']];
    assert.deepEqual(renderTable(columns, rows, screen, 23), ['name         a     b', 'a-long-name  aaaa  bbbb']);
    assert.deepEqual(renderTable(columns, rows, screen, 19), ['name     a     b', 'a-long…  aaaa  bbbb']);
    assert.deepEqual(renderTable(columns, rows, screen, 12), ['name    a', 'a-lon…  aaaa']);
    assert.deepEqual(renderTable(columns, rows, screen, 3), ['name', 'a-lo…']);
  });
});
