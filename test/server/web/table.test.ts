import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { causePart } from '../../../src/server/web/pages/job-next';
import { table } from '../../../src/server/web/table';

process.env.TZ = 'Europe/Berlin';

describe('table', () => {
  it('has its caption outside the scrolling part', () => {
    const text = String(table('By user', [{ head: 'jobs' }], [['1']]));
    assert.match(text, /<p class="caption">By user<\/p>\s*<div class="scroll"[^]*<table aria-label="By user">/);
    assert.doesNotMatch(String(table('By user', [{ head: 'jobs' }], [['1']], true)), /class="caption"/);
  });
});

describe('causePart', () => {
  it('shows times as the rest of the page does', () => {
    const cause = {
      sentence: 'Killed at 2026-11-26T03:09:23Z.',
      explanations: [{ name: 'x', standing: 'consistent', evidence: 'at 2026-11-26T03:09:24Z', would_show: null }],
    } as unknown as Parameters<typeof causePart>[0];
    const text = String(causePart(cause));
    assert.match(text, /Killed at 04:09:23\.[^]*at 04:09:24/);
  });
});
