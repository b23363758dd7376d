import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { MailError } from '../../../src/cli/mail/message';
import { sendBySendmail } from '../../../src/cli/mail/send-sendmail';
import { temporaryDirectory } from '../../support/temporary-directory';

const message = { from: 'qmemacct@example.org', to: 'alice', raw: Buffer.from('To: alice\r\n\r\n.\r\nGröße\r\n') };

/** A sendmail that keeps its arguments (`words`) and input (`body`), and ends with this line of shell. */
function sendmail(end: string): { readonly path: string; readonly read: (name: string) => string } {
  const directory = temporaryDirectory();
  const path = join(directory, 'sendmail');
  const keep = `printf '%s\\n' "$@" >${directory}/words; cat >${directory}/body`;
  writeFileSync(path, `#!/bin/sh\n${keep}\n${end}\n`, { mode: 0o755 });
  return { path, read: (name) => readFileSync(join(directory, name), 'utf8') };
}

async function failure(sending: Promise<void>): Promise<string> {
  try {
    await sending;
  } catch (error) {
    assert.ok(error instanceof MailError);
    return `${error.failure}: ${error.message}`;
  }
  return 'sent';
}

describe('sendmail', () => {
  it('gets the message with the line ends of this host, and one recipient behind "--"', async () => {
    const { path, read } = sendmail('exit 0');
    await sendBySendmail(path, message);
    assert.equal(read('words'), '-i\n-f\nqmemacct@example.org\n--\nalice\n');
    assert.equal(read('body'), 'To: alice\n\n.\nGröße\n');
  });

  it('says by its status whether to try again', async () => {
    const ends = (status: number) => sendmail(`echo "user unknown" >&2; exit ${status}`).path;
    assert.match(await failure(sendBySendmail(ends(67), message)), /^refused: .*ended with status 67: user unknown$/);
    assert.match(await failure(sendBySendmail(ends(75), message)), /^later: /);
    assert.match(await failure(sendBySendmail(ends(69), message)), /^unreachable: /);
    assert.match(await failure(sendBySendmail('/nonexistent/sendmail', message)), /^unreachable: .*set mail_server$/);
  });

  it('that hangs is ended, and leaves the mail in doubt', async () => {
    const { path } = sendmail('exec sleep 600');
    assert.match(await failure(sendBySendmail(path, message, 300)), /^doubt: .*did not end within 0.3 s/);
  });

  it('that does not read the mail fails with its own status', async () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'sendmail');
    writeFileSync(path, '#!/bin/sh\nexit 77\n', { mode: 0o755 });
    const large = { ...message, raw: Buffer.alloc(4_000_000, 'x') };
    assert.match(await failure(sendBySendmail(path, large)), /^unreachable: .*status 77: no reason given$/);
  });
});
