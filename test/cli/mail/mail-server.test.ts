import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseMailServer } from '../../../src/cli/mail/mail-server';
import { createMailer } from '../../../src/cli/mail/mailer';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { mailSink } from './mail-sink';

describe('mail_server', () => {
  it('is a sendmail program, or a server with its usual port', () => {
    assert.deepEqual(parseMailServer(''), { kind: 'sendmail', path: '/usr/sbin/sendmail' });
    assert.deepEqual(parseMailServer('/opt/sendmail'), { kind: 'sendmail', path: '/opt/sendmail' });
    const smtp = { kind: 'smtp', host: 'mail', port: 25, secure: false, tls: 'verify', ca: null, user: '' };
    assert.deepEqual(parseMailServer('smtp://mail'), smtp);
    assert.deepEqual(parseMailServer('smtp://bob@mail?tls=unverified'), {
      ...smtp,
      user: 'bob',
      port: 587,
      tls: 'unverified',
    });
    assert.deepEqual(parseMailServer('smtps://b%40x@[::1]:2465/'), {
      ...smtp,
      host: '::1',
      port: 2465,
      secure: true,
      user: 'b@x',
    });
  });

  it('is refused with the reason, which never shows the password', () => {
    const wrong = (text: string, pattern: RegExp): void => {
      assert.throws(() => parseMailServer(text), pattern);
    };
    wrong('http://mail', /is not a mail server/);
    wrong('smtp://', /is not a mail server/);
    wrong(
      'smtp://bob:secret@mail',
      /mail_server = "smtp:\/\/bob:\.\.\.@mail".*belongs in the file of mail_credentials/,
    );
    wrong('smtp://mail/path', /has a path/);
    wrong('smtp://us%er@mail', /"us%er" has a "%" that begins no character; a "%" itself is %25; write smtp/);
    wrong('smtp://mail?starttls=1', /"starttls" is not known/);
    wrong('smtp://mail?tls=no', /tls=no is none of/);
    wrong('smtps://mail?tls=off', /contradicts it/);
    wrong('smtp://mail?ca=/nonexistent.pem', /ca=\/nonexistent\.pem/);
  });

  it('is refused with settings that would fail at night', () => {
    const given = (changes: object) => () => createMailer({ ...DEFAULT_SETTINGS, ...changes }, 'host');
    assert.throws(given({ mail_from: 'a b' }), /mail_from = "a b"/);
    assert.throws(given({ mail_admins: ['root', 'a@b, c@d'] }), /mail_admins: "a@b, c@d"/);
    assert.throws(given({ mail_domain: 'example org' }), /mail_domain/);
    assert.throws(given({ mail_server: 'smtp://bob@mail' }), /mail_credentials no file/);
    assert.equal(given({ mail_admins: ['root'] })().domain, 'host');
    assert.equal(given({ mail_from: 'a@example.org' })().domain, 'example.org');
  });

  it('gets whole addresses by SMTP, at the domain of the settings or the host', async (t) => {
    const sink = await mailSink(t, { disabledCommands: ['AUTH', 'STARTTLS'] });
    const mail_server = `smtp://127.0.0.1:${sink.port}`;
    const message = { subject: 's', text: 't', html: '<p>t', id: 'a@b', date: new Date(0) };
    const send = async (changes: object): Promise<void> => {
      const mailer = createMailer({ ...DEFAULT_SETTINGS, mail_server, ...changes }, 'login1');
      await mailer.send({ ...message, from: mailer.from, to: 'root' });
      mailer.close();
    };
    await send({});
    await send({ mail_from: 'Cluster <c@example.org>' });
    await send({ mail_domain: 'example.net' });
    assert.deepEqual(
      sink.mails.map(({ envelopeFrom, envelopeTo }) => [envelopeFrom, ...envelopeTo]),
      [
        ['qmemacct@login1', 'root@login1'],
        ['c@example.org', 'root@example.org'],
        ['qmemacct@example.net', 'root@example.net'],
      ],
    );
  });
});
