import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { printLink } from '../../../src/cli/commands/web';
import { startTestSite } from '../../server/test-site';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';

const options = (socket: string): Parameters<typeof printLink>[0] => ({ config: '/nonexistent', color: false, socket });

describe('qmemacct web', () => {
  it('prints a link to the pages, and how to open it from another host', async (t) => {
    const site = await startTestSite(t);
    const terminal = fakeTerminal();
    assert.equal(await printLink(options(site.socket), terminal), 0);
    const [url = '', ...words] = terminal.output().trim().split('\n');
    assert.equal(new URL(url).origin, `http://127.0.0.1:${site.port}`);
    assert.equal((await site.get(url.slice(new URL(url).origin.length))).status, 200);
    assert.deepEqual(words, [
      'Open it within 5 minutes; it works once.',
      `It works on this host only; from another: ssh -L ${site.port}:127.0.0.1:${site.port} HOST, with this host's name`,
    ]);
  });

  it('begins the link with the serve_url of the site', async (t) => {
    const site = await startTestSite(t, { settings: { serve_url: 'https://memory.example.org/' } });
    const terminal = fakeTerminal();
    assert.equal(await printLink({ ...options(site.socket), json: true }, terminal), 0);
    const { url, seconds } = JSON.parse(terminal.output()) as { readonly url: string; readonly seconds: number };
    assert.match(url, /^https:\/\/memory\.example\.org\/sign-in\?code=[\w-]{43}$/);
    assert.equal(seconds, 300);
  });

  it('says that no server answers where there is none', async () => {
    const socket = join(temporaryDirectory(), 'serve.sock');
    await assert.rejects(printLink(options(socket), fakeTerminal()), /qmemacct serve at .*: there is none/);
  });
});
