import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { addressSpaceLimit, type AddressSpaceLimit } from '../../src/gridengine/address-space-limit';
import { parseSpoolConfig } from '../../src/gridengine/spool-config';
import { sampleConfig } from './spool-samples';

const mib = 1024 ** 2;

function limit(changes: Readonly<Record<string, string | null>>): AddressSpaceLimit {
  const result = parseSpoolConfig(sampleConfig(changes));
  assert.ok(result.ok);
  return addressSpaceLimit(result.value);
}

describe('addressSpaceLimit', () => {
  it('is h_vmem times the slots, as seen on a running cluster: 1G with two slots is 2097152 KiB', () => {
    assert.deepEqual(limit({}), { soft: 2097152 * 1024, hard: 2097152 * 1024 });
  });

  it('has a floor of 10 MiB before the slots: a consumable with default 0', () => {
    assert.equal(limit({ h_vmem: '0' }).hard, 20 * mib);
    assert.equal(limit({ h_vmem: '0', h_vmem_is_consumable_job: '1' }).hard, 10 * mib);
  });

  it('takes s_vmem for the soft limit, never above the hard one', () => {
    assert.equal(limit({ s_vmem: '500M' }).soft, 1000 * mib);
    assert.equal(limit({ s_vmem: '5G' }).soft, 2048 * mib);
  });

  it('knows unlimited, overflowing, absent and unreadable values', () => {
    assert.deepEqual(limit({ h_vmem: 'INFINITY' }), { soft: Infinity, hard: Infinity });
    assert.equal(limit({ h_vmem: '9e18' }).hard, 18e18);
    assert.equal(limit({ h_vmem: '1e19' }).hard, Infinity);
    assert.equal(limit({ h_vmem: null }).hard, null);
    assert.equal(limit({ h_vmem: '4GB' }).hard, null);
  });
});
