import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nightOf } from '../../../src/cli/nightly/night';
import { digestMail, siteMail, troubleMail, type MailContext } from '../../../src/cli/nightly/night-mail';
import { fakeReport } from './fake-night';

const context: MailContext = {
  mailer: { from: { name: '', address: 'qmemacct@example.org' }, domain: 'example.org' },
  cluster: 'prod',
  day: '2026-11-20',
  host: 'login1',
  now: new Date('2026-11-21T03:00:00Z'),
};
const night = nightOf('2026-11-20') ?? assert.fail();
const report = fakeReport(night, null, []);

describe('the mails of a night', () => {
  it('say how a digest is stopped, in text and HTML', () => {
    const mail = digestMail(context, 'alice', 'alice@example.org', report, false);
    assert.equal(mail.subject, 'Your jobs of 2026-11-20 on prod: 12 jobs');
    assert.match(mail.text, /^Report of .*\n\n-- \nYou turned it on; "qmemacct digest off" on login1 stops it\.\n$/);
    assert.match(
      mail.html,
      /You turned it on; &quot;qmemacct digest off&quot; on login1 stops it\.<\/p><\/div><\/body><\/html>$/,
    );
    assert.match(digestMail(context, 'alice', 'a', report, true).text, /sends it to everybody/);
  });

  it('put the problems of the night, escaped, in front of the report', () => {
    const mail = siteMail(context, 'root', report, ['import: <b>"x" \u001b[2J & y']);
    assert.equal(mail.subject, 'qmemacct prod 2026-11-20: 12 jobs (with problems)');
    assert.match(mail.text, /^What went wrong in this night:\n {2}import: <b>"x" \\x1b\[2J & y\n\nReport of/);
    assert.match(mail.html, /<body class="a"><div [^>]*>.*&lt;b&gt;&quot;x&quot; \\x1b\[2J &amp; y.*<p>Report of/);
    const well = siteMail(context, 'root', report, []);
    assert.deepEqual([well.text, well.html], [report.text, report.html]);
  });

  it('say why there is no report', () => {
    const mail = troubleMail(context, { kind: 'trouble', to: 'root 2026-11-21' }, 'root', ['disk full']);
    assert.match(mail.text, /login1 made no report of 2026-11-20:\ndisk full\nThe next run tries again\.\n/);
    assert.match(mail.html, /disk full/);
  });

  it('have ids that depend on kind, night, cluster and recipient alone', () => {
    const id = (changes: Partial<MailContext>, owner = 'alice') =>
      digestMail({ ...context, ...changes }, owner, 'x', report, false).id;
    assert.equal(id({}), id({ now: new Date(), host: 'login2' }));
    const ids = [
      id({}),
      id({ day: '2026-11-19' }),
      id({ cluster: 'test' }),
      id({}, 'bob'),
      siteMail(context, 'alice', report, []).id,
    ];
    assert.equal(new Set(ids).size, ids.length);
  });
});
