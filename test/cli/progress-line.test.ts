import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { progressLine } from '../../src/cli/terminal';
import { fakeTerminal } from './fake-terminal';

describe('the progress line', () => {
  it('is overwritten at most ten times a second, and cleared', () => {
    const terminal = fakeTerminal({ isTTY: true });
    let now = 0;
    const progress = progressLine(terminal, () => now);
    progress.clear();
    progress.show('import', 1, 4000);
    now = 50;
    progress.show('import', 2, 4000);
    now = 120;
    progress.show('import', 1000, 4000);
    now = 300;
    progress.show('import', 5, 0);
    progress.clear();
    progress.clear();
    const lines = ['import: 1 of 4,000 (<0.1 %)', 'import: 1,000 of 4,000 (25 %)', 'import: 5 of 0', ''];
    assert.equal(terminal.output(), lines.map((line) => `\r\u001b[K${line}`).join(''));
  });

  it('is not written without a terminal', () => {
    const terminal = fakeTerminal();
    const progress = progressLine(terminal);
    progress.show('import', 1, 2);
    progress.clear();
    assert.equal(terminal.output(), '');
  });
});
