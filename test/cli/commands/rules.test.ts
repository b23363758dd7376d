import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, it } from 'node:test';
import { parseRules } from '../../../src/report/rules/rule';
import { temporaryDirectory } from '../../support/temporary-directory';
import { runCommand, type Answer } from '../../support/qmemacct';

function rules(...words: readonly string[]): Promise<Answer> {
  return runCommand(['--config', '/dev/null', 'rules', ...words]);
}

describe('qmemacct rules', () => {
  it('lists the rules in force as text, JSON and CSV, the fields of rules, and the shipped rules as TOML', async () => {
    assert.match((await rules()).output, /^leak {2}high\nwhen {6}wallclock_seconds >= 10min and /m);
    assert.match((await rules('--json')).output, /"name": "leak"/);
    assert.match((await rules('--csv')).output, /^name,severity,.*\nmemory-close,high,/);
    assert.match((await rules('--fields')).output, /^needed_share +number +of its limit/m);
    assert.ok(parseRules((await rules('--toml')).output).ok);
  });

  it('accepts a correct file with --check, and points at the fault of a wrong one', async () => {
    const path = join(temporaryDirectory(), 'rules.toml');
    const write = (when: string): void =>
      writeFileSync(path, `[leak]\nseverity = "off"\n[mine]\nseverity = "low"\nevidence = "x"\nwhen = "${when}"\n`);
    write('gpu_held > 1');
    const right = await rules('--check', path);
    assert.equal(right.status, 0);
    assert.match(right.output, /^mine: a rule of your own\nleak: switched off\n.* is right: rules_file = /);
    // The setting that is shown names the absolute path.
    const byRelativePath = await rules('--check', relative(process.cwd(), path));
    assert.ok(byRelativePath.output.includes(`rules_file = "${path}" in the configuration`), byRelativePath.output);
    write('gpu_hold > 1');
    const wrong = await rules('--check', path);
    assert.equal(wrong.status, 2);
    assert.match(wrong.warnings, /rules\.toml: \[mine\] when, character 1: .* did you mean "gpu_held"\?/);
    assert.equal((await rules('--check', `${path}.not`)).status, 3);
  });
});
