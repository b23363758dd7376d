import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startTestSite } from '../test-site';

describe('the script of the pages', () => {
  it('is small, and is loaded by every page', async (t) => {
    const site = await startTestSite(t, { records: [] });
    const script = await site.get('/script.js');
    assert.equal(script.status, 200, script.text);
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8');
    assert.ok(script.bytes.length > 1000);
    assert.ok(script.bytes.length <= 80_000, `${script.bytes.length} bytes`);
    assert.ok(gzipSync(script.bytes).length <= 35_000);
    assert.match((await site.get('/jobs')).text, /<script src="\/script\.js" defer><\/script>/);
  });
});
