import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseSpoolUsage } from '../../src/gridengine/spool-usage';
import { sampleUsage } from './spool-samples';

describe('parseSpoolUsage', () => {
  it('reads a killed job', () => {
    const usage = parseSpoolUsage(sampleUsage);
    assert.equal(usage.exitStatus, 137);
    assert.equal(usage.signal, 9);
    assert.equal(usage.startTimeMs, 1795248478000);
    assert.equal(usage.endTimeMs, 1795248479000);
    assert.equal(usage.wallclockSeconds, 1);
    assert.equal(usage.userSeconds, 0.00452);
    assert.equal(usage.systemSeconds, 0.003293);
    assert.equal(usage.maxrssBytes, 4580 * 1024);
    assert.equal(usage.rusage.ru_nvcsw, 5);
    assert.equal(Object.keys(usage.rusage).length, 17);
  });

  it('has nulls for what a file cut short lacks', () => {
    const usage = parseSpoolUsage(sampleUsage.slice(0, sampleUsage.indexOf('ru_utime') + 5));
    assert.equal(usage.wallclockSeconds, 1);
    assert.equal(usage.userSeconds, null);
    assert.equal(usage.maxrssBytes, null);
    assert.equal(parseSpoolUsage('').exitStatus, null);
  });

  it('does not let appended lines change a figure', () => {
    const usage = parseSpoolUsage(`${sampleUsage}ru_maxrss=1\nexit_status=0\nmy_own=3\n`);
    assert.equal(usage.exitStatus, 137);
    assert.equal(usage.maxrssBytes, 4580 * 1024);
    assert.equal(usage.rusage.my_own, undefined);
  });

  it('never throws and never yields NaN or a negative number', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom('exit_status', 'ru_maxrss', 'ru_x', 'x'), fc.string())),
        (lines) => {
          const usage = parseSpoolUsage(lines.map(([key, value]) => `${key}=${value}`).join('\n'));
          for (const value of [usage.exitStatus, usage.maxrssBytes, ...Object.values(usage.rusage)]) {
            assert.ok(value === null || value >= 0);
          }
        },
      ),
    );
  });
});
