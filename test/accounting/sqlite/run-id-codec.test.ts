import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { packRunId, unpackRunId } from '../../../src/accounting/sqlite/run-id-codec';

it('packs the usual form', () => {
  const packed = packRunId('0badcafe.4194303.123456789');
  assert.ok(Buffer.isBuffer(packed) && packed.length === 12);
  assert.equal(unpackRunId(packed), '0badcafe.4194303.123456789');
});

it('packs what an accounting line has', () => {
  const packed = packRunId('accounting.1793491200');
  assert.ok(Buffer.isBuffer(packed) && packed.length === 5);
  assert.equal(unpackRunId(packed), 'accounting.1793491200');
  for (const runId of [
    'accounting.0',
    'accounting.9999999999',
    'accounting.10000000000',
    'accounting.007',
    'accounting.',
  ])
    assert.equal(unpackRunId(packRunId(runId)), runId);
});

it('gives any run id back', () => {
  const digits = fc.oneof(fc.nat().map(String), fc.constantFrom('0', '00', '01', '9'.repeat(15), '9'.repeat(16), ''));
  const boot = fc.oneof(fc.constantFrom('0badcafe', '0BADCAFE', '0badcaf'), fc.string());
  fc.assert(
    fc.property(boot, digits, digits, (a, b, c) => {
      const runId = `${a}.${b}.${c}`;
      assert.equal(unpackRunId(packRunId(runId)), runId);
    }),
  );
});
