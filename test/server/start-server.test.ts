import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { killedAtLimit, ordinary } from '../report/sample-records';
import { ask, startTestSite } from './test-site';

describe('the server', () => {
  it('answers the same over HTTP and over its socket', async (t) => {
    const site = await startTestSite(t, { records: [ordinary, killedAtLimit] });
    for (const path of [
      '/v1',
      '/qhost',
      '/qstat',
      '/v1/live',
      '/v1/hosts',
      '/v1/at-risk',
      '/v1/snapshot',
      '/v1/job/4711',
      '/v1/owner/bob?since=2026-11-01',
      '/v1/health',
      '/v1/openapi.json',
    ]) {
      const byPort = await site.get(path);
      const bySocket = await ask({ socketPath: site.socket }, { path });
      assert.equal(byPort.status, 200, `${path}: ${byPort.text}`);
      assert.equal(bySocket.status, 200);
      assert.equal(byPort.text, bySocket.text, path);
      assert.ok(byPort.bytes.length > 20);
    }
    assert.deepEqual(site.lines, []);
  });
});
