import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { MailError, type MailFailure, type WiredMessage } from '../../../src/cli/mail/message';
import type { SmtpServer } from '../../../src/cli/mail/mail-server';
import { smtpSender, type SmtpPatience } from '../../../src/cli/mail/send-smtp';
import { oneOf } from '../../tries';
import { mailSink, scriptedServer } from './mail-sink';

const RAW = Buffer.from('Subject: x\r\nTo: alice\r\n\r\none\r\n.two\r\n');
const message = { from: 'qmemacct@example.org', to: 'alice@example.org', raw: RAW };
const patience = { connect: 60_000, answer: 60_000 };
const impatience = { connect: 60_000, answer: 300 };

const server = (port: number, changes: Partial<SmtpServer> = {}): SmtpServer => ({
  kind: 'smtp',
  host: '127.0.0.1',
  port,
  secure: false,
  tls: 'verify',
  ca: null,
  user: '',
  ...changes,
});

/** Sends one message on a connection of its own. */
async function sendBySmtp(
  to: SmtpServer,
  password: string | null,
  one: WiredMessage,
  limits: SmtpPatience,
): Promise<void> {
  const sender = smtpSender(to, password, limits);
  try {
    await sender.send(one);
  } finally {
    sender.close();
  }
}

async function failure(sending: Promise<void>): Promise<MailError> {
  try {
    await sending;
  } catch (error) {
    assert.ok(error instanceof MailError, String(error));
    return error;
  }
  return assert.fail('the mail was sent');
}

async function failsWith(sending: Promise<void>, kind: MailFailure, pattern: RegExp): Promise<void> {
  const error = await failure(sending);
  assert.equal(error.failure, kind, error.message);
  assert.match(error.message, pattern);
  assert.ok(!error.message.includes('\n'));
}

describe('SMTP', () => {
  const plain = (t: TestContext) => mailSink(t, { disabledCommands: ['AUTH', 'STARTTLS'] });

  it('brings a message to one recipient', async (t) => {
    const sink = await plain(t);
    await sendBySmtp(server(sink.port), null, message, patience);
    const [mail] = sink.mails;
    assert.deepEqual([mail?.envelopeFrom, mail?.envelopeTo], ['qmemacct@example.org', ['alice@example.org']]);
    assert.match(mail?.raw ?? '', /\r\n\r\none\r\n\.two\r\n$/);
  });

  it('tells final from temporary refusals, and those of a recipient from those of every mail', async (t) => {
    const sink = await plain(t);
    const send = () => sendBySmtp(server(sink.port), null, message, patience);
    sink.admits = () => ({ code: 550, text: 'no such user' });
    await failsWith(send(), 'refused', /smtp:\/\/127\.0\.0\.1:\d+: 550 no such user/);
    sink.admits = () => ({ code: 450, text: 'greylisted' });
    await failsWith(send(), 'later', /450 greylisted/);
    sink.admits = () => null;
    sink.answer = () => ({ code: 554, text: 'spam' });
    await failsWith(send(), 'refused', /554 spam/);
    sink.answer = () => ({ code: 452, text: 'disk full' });
    await failsWith(send(), 'later', /452 disk full/);
    assert.equal(sink.mails.length, 0);
    const refusing = await scriptedServer(t, ['554 go away', 'close']);
    await failsWith(sendBySmtp(server(refusing), null, message, patience), 'unreachable', /554 go away/);
    const noSender = await scriptedServer(t, ['220 x', '250 x', '550 you?', 'close']);
    await failsWith(sendBySmtp(server(noSender), null, message, patience), 'unreachable', /550 you\?/);
  });

  it('does not wait for ever, and says whether the message may have been sent', async (t) => {
    const send = async (lines: readonly (string | null)[], limits = impatience) =>
      sendBySmtp(server(await scriptedServer(t, lines)), null, message, limits);
    await failsWith(send([null], { connect: 300, answer: 60_000 }), 'unreachable', /greeting|imeout/i);
    await failsWith(send(['220 x', null]), 'unreachable', /imeout/);
    const begin = ['220 x', '250 x', '250 sender', '250 recipient'];
    await failsWith(send([...begin, null]), 'unreachable', /imeout/);
    // A busy server may be late with an earlier answer, too.
    await oneOf(10, () => failsWith(send([...begin, '354 go on', null]), 'doubt', /imeout/));
    await failsWith(send([...begin, '354 go on', 'close'], patience), 'doubt', /./);
    await failsWith(sendBySmtp(server(1), null, message, patience), 'unreachable', /ECONNREFUSED.*does the server run/);
  });

  it('gives up a server whose reply never ends', async (t) => {
    const dripping = createServer((socket) => {
      socket.write('220 x\r\n');
      const timer = setInterval(() => socket.write('250-more\r\n'), 20);
      socket.on('error', () => undefined).on('close', () => clearInterval(timer));
    });
    t.after(() => dripping.close());
    const port = await new Promise<number>((resolve) => {
      dripping.listen(0, '127.0.0.1', () => resolve((dripping.address() as AddressInfo).port));
    });
    const limits = { connect: 1000, answer: 200 };
    await failsWith(sendBySmtp(server(port), null, message, limits), 'unreachable', /not come to an end within 2 s/);
  });

  it('needs a certificate that it can trust, unless tls=unverified is set', async (t) => {
    for (const secure of [true, false]) {
      const sink = await mailSink(t, { secure });
      const smtp = server(sink.port, { secure });
      await failsWith(sendBySmtp(smtp, null, message, patience), 'unreachable', /certificate.*tls=unverified/);
      assert.equal(sink.mails.length, 0);
      await sendBySmtp({ ...smtp, tls: 'unverified' }, null, message, patience);
      assert.equal(sink.mails[0]?.secure, true);
    }
  });

  it('says how to do without STARTTLS where that is offered and fails', async (t) => {
    const port = await scriptedServer(t, ['220 x', '250-x\r\n250 STARTTLS', '454 TLS not available']);
    const { failure: kind, message: said } = await failure(sendBySmtp(server(port), null, message, patience));
    assert.equal(kind, 'unreachable');
    assert.match(said, /454 TLS not available; it offers STARTTLS and did not take it: \?tls=off behind/);
  });

  it('sends a password over TLS only', async (t) => {
    const tls = await mailSink(t, { disabledCommands: [] });
    const asBob = (port: number, more: Partial<SmtpServer> = {}) =>
      server(port, { user: 'bob', tls: 'unverified', ...more });
    await sendBySmtp(asBob(tls.port), 'right', message, patience);
    assert.deepEqual([tls.mails[0]?.user, tls.mails[0]?.secure], ['bob', true]);
    await failsWith(sendBySmtp(asBob(tls.port), 'wrong', message, patience), 'unreachable', /535.*mail_credentials/);
    const heard: string[] = [];
    const bare = await mailSink(t, { disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    bare.admits = (to) => (heard.push(to), null);
    await failsWith(sendBySmtp(asBob(bare.port), 'right', message, patience), 'unreachable', /did not take STARTTLS/);
    assert.deepEqual(heard, []);
    await sendBySmtp(asBob(bare.port, { tls: 'off' }), 'right', message, patience);
    assert.equal(bare.mails[0]?.user, 'bob');
  });

  it('keeps a connection until a mail fails or the server ends it, then opens another', async (t) => {
    const connections: string[] = [];
    const sink = await mailSink(t, {
      disabledCommands: ['AUTH', 'STARTTLS'],
      onConnect: ({ id }, callback) => {
        connections.push(id);
        callback(null);
      },
    });
    const sender = smtpSender(server(sink.port), null, patience);
    t.after(() => {
      sender.close();
    });
    await sender.send(message);
    await sender.send(message);
    assert.equal(connections.length, 1);
    sink.admits = () => ({ code: 550, text: 'no' });
    await failsWith(sender.send(message), 'refused', /550 no/);
    sink.admits = () => null;
    await sender.send(message);
    assert.equal(connections.length, 2);
    await sink.hangUp();
    await sender.send(message);
    assert.deepEqual([connections.length, sink.mails.length], [3, 4]);
  });
});
