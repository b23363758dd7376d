import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { headerText, messageId, wireMessage, type Message } from '../../../src/cli/mail/message';
import { readMail } from './read-mail';
import { anyCharacter } from '../../support/any-character';

const message = (changes: Partial<Message> = {}): Message => ({
  from: { name: 'Cluster', address: 'qmemacct@example.org' },
  to: 'alice@example.org',
  subject: 'Your jobs of 2026-11-20',
  text: 'used 1 GiB\n',
  html: '<!doctype html><title>x</title><p>used 1 GiB</p>',
  id: messageId(['digest', '2026-11-20', 'c', 'alice'], 'example.org'),
  date: new Date('2026-11-21T03:00:00Z'),
  ...changes,
});

const HEADERS = [
  'auto-submitted',
  'content-type',
  'date',
  'from',
  'message-id',
  'mime-version',
  'precedence',
  'subject',
  'to',
  'x-auto-response-suppress',
];

async function read(changes: Partial<Message>): Promise<ReturnType<typeof readMail>> {
  return readMail((await wireMessage(message(changes))).raw.toString('latin1'));
}

describe('a message', () => {
  it('has its text plain and as HTML, and says that a machine wrote it', async () => {
    const { headers, text, html, raw } = await read({ text: 'Größe: 1 GiB\n', html: '<p>Größe</p>' });
    assert.equal(text, 'Größe: 1 GiB\n');
    assert.equal(html, '<p>Größe</p>');
    assert.match(headers.get('content-type') ?? '', /^multipart\/alternative/);
    assert.equal(headers.get('auto-submitted'), 'auto-generated');
    assert.equal(headers.get('from'), 'Cluster <qmemacct@example.org>');
    assert.equal(headers.get('to'), 'alice@example.org');
    assert.equal(headers.get('date'), 'Sat, 21 Nov 2026 03:00:00 +0000');
    assert.ok(raw.split('\r\n').every((line) => line.length <= 78));
  });

  it('has an id that depends on its parts alone', () => {
    assert.equal(messageId(['a', 'b'], 'x'), messageId(['a', 'b'], 'x'));
    assert.notEqual(messageId(['a', 'b'], 'x'), messageId(['ab', ''], 'x'));
    assert.match(messageId(['a\r\nb'], 'example.org'), /^qmemacct\.[0-9a-f]{32}@example\.org$/);
  });

  it('lets nothing in a subject become a header', async () => {
    const subject = 'jobs\r\nBcc: everyone@example.org\r\n\r\n<script>\u202e\u0000';
    const { headers, names, html } = await read({ subject });
    assert.deepEqual([...names].sort(), HEADERS);
    assert.equal(headers.get('subject'), 'jobs Bcc: everyone@example.org <script>');
    assert.equal(html, message().html);
  });

  it('keeps a subject in other alphabets, in ASCII on the wire', async () => {
    const subject = 'Aufträge 中文 — '.repeat(8).trim();
    const { headers, raw } = await read({ subject });
    assert.equal(headers.get('subject'), subject);
    assert.ok(!/[^\0-\x7f]/.test(raw));
  });

  it('has the same headers whatever its subject, text and sender hold', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom('\r\nTo: x@y', '\n.\r\n', '=?UTF-8?B?DQo=?='),
    );
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (subject, text, name) => {
        const seen = await read({ subject, text: `${text}.\n`, from: { name, address: 'a@example.org' } });
        // A subject of nothing visible is left out.
        const expected = HEADERS.filter((header) => header !== 'subject' || headerText(subject) !== '');
        assert.deepEqual([...seen.names].sort(), expected);
        assert.equal(seen.headers.get('to'), 'alice@example.org');
        assert.equal(seen.html, message().html);
      }),
      { numRuns: 12 },
    );
  });

  it('cuts its subject to 200 characters', () => {
    assert.equal(Array.from(headerText('𝔛'.repeat(500))).length, 200);
  });
});
