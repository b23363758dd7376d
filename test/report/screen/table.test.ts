import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { renderTable } from '../../../src/report/screen/table';
import { testScreen } from '../screens';

const screen = testScreen();

describe('renderTable', () => {
  it('aligns wide and coloured characters, too', () => {
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

  it('leaves out an empty header, a table without rows, and columns without content', () => {
    assert.deepEqual(renderTable([{ head: '' }, { head: '' }], [['a', 'b']], screen), ['a  b']);
    assert.deepEqual(renderTable([{ head: 'x' }], [], screen), []);
    assert.deepEqual(renderTable([{ head: 'x' }, { head: 'empty' }], [['a', '']], screen), ['x', 'a']);
  });

  it('aligns thousands of lines', () => {
    const rows = Array.from({ length: 5000 }, (_, index) => [String(index), 'x']);
    const lines = renderTable([{ head: 'n', align: 'right' }, { head: '' }], rows, screen);
    assert.equal(lines.length, 5001);
    assert.deepEqual([lines[0], lines[1], lines[5000]], ['   n', '   0  x', '4999  x']);
  });

  it('shrinks columns first, then leaves out dispensable ones', () => {
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

  it('cuts the domains off host names before anything else, if all that differ still do', () => {
    const columns = [
      { head: 'host', hosts: true, shrinksTo: 8 },
      { head: 'a', dispensable: 1 },
    ];
    const ofOne = [
      ['n1.hpc.example.org', 'aaaa'],
      ['n2.hpc.example.org +2', 'bbbb'],
    ];
    assert.deepEqual(renderTable(columns, ofOne, screen, 27).at(1), 'n1.hpc.example.org     aaaa');
    assert.deepEqual(renderTable(columns, ofOne, screen, 26), ['host   a', 'n1     aaaa', 'n2 +2  bbbb']);
    const ofTwo = [
      ['n1.a.example.org', 'aaaa'],
      ['n1.b.example.org', 'bbbb'],
    ];
    assert.equal(renderTable(columns, ofTwo, screen, 16).at(1), 'n1.a.exam…  aaaa');
    const addresses = [['10.0.0.101', 'aaaa']];
    assert.equal(renderTable(columns, addresses, screen, 14).at(1), '10.0.0.…  aaaa');
  });

  it('fills the remaining room with narrower columns that were left out', () => {
    const columns = [{ head: 'name' }, { head: 'wide', dispensable: 1 }, { head: 'b', dispensable: 2 }];
    assert.deepEqual(renderTable(columns, [['abcd', 'x'.repeat(20), 'b']], screen, 10), ['name  b', 'abcd  b']);
  });

  it('gives a column its usual width where there is room', () => {
    const columns = [{ head: 'a', atLeast: 5 }, { head: 'b' }];
    assert.deepEqual(renderTable(columns, [['x', 'y']], screen), ['a      b', 'x      y']);
    assert.deepEqual(renderTable(columns, [['x', 'y']], screen, 5), ['a   b', 'x   y']);
  });

  it('aligns few and many lines alike', () => {
    const columns = [{ head: 'left' }, { head: 'right', align: 'right' }, { head: 'cut', shrinksTo: 4 }] as const;
    const unit = fc.constantFrom('a', 'B', '7', ' ', '–', '≥', '█', '日', 'ü', 'e\u0301', '🙂');
    const cell = fc.string({ unit, maxLength: 12 }).map((text) => text.trim());
    const coloured = cell.map((text) => testScreen({ colour: true }).style.warning(text));
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, coloured, cell), { minLength: 1, maxLength: 20 }), (rows) => {
        const few = renderTable(columns, rows, screen, 60);
        const repeated = Array.from({ length: 100 }, () => rows).flat();
        assert.deepEqual(renderTable(columns, repeated, screen, 60).slice(0, few.length), few);
      }),
      { numRuns: 30 },
    );
  });
});
