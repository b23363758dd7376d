import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newShareMeter, WHOLE_PROCESS } from '../../../src/sampler/job/cpu-meter';
import { oneOf } from '../../tries';

function burn(ms: number): void {
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  for (const end = cpuMs() + ms; cpuMs() < end;);
}

describe('the CPU time of a share', () => {
  it('is what was run through it, and what fails there, too', () =>
    oneOf(5, () => {
      const meter = newShareMeter();
      const before = WHOLE_PROCESS.seconds();
      burn(40);
      assert.equal(meter.seconds(), 0);
      assert.equal(
        meter.around(() => {
          burn(50);
          return 7;
        }),
        7,
      );
      const first = meter.seconds();
      assert.ok(first >= 0.05 && first < 0.2, `${first} s`);
      assert.throws(() =>
        meter.around(() => {
          burn(30);
          throw new Error('failed');
        }),
      );
      assert.ok(meter.seconds() >= first + 0.03);
      assert.ok(WHOLE_PROCESS.seconds() - before >= 0.12);
    }));

  it('is its own', () => {
    const one = newShareMeter();
    const other = newShareMeter();
    one.around(() => burn(10));
    assert.equal(other.seconds(), 0);
    assert.equal(
      WHOLE_PROCESS.around(() => 3),
      3,
    );
  });
});
