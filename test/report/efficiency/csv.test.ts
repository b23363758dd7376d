import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderReportCsv, renderReportJson } from '../../../src/report/efficiency/output';
import { sampleReport } from './sample-report';

describe('renderReportCsv', () => {
  it('has one line per group under a fixed header, and is safe for a spreadsheet', async () => {
    const report = await sampleReport();
    const [head, first, ...others] = renderReportCsv(report).trimEnd().split('\n');
    assert.match(
      head ?? '',
      /^since,until,owner,jobs,records,running,core_hours,cpu_hours,cpu_efficiency,requested_gib_hours,.*,without_used\b/,
    );
    assert.match(first ?? '', /^2026-11-19T23:00:00\.000Z,2026-11-20T23:00:00\.000Z,ljensen,48,48,0,228\.059722,/);
    assert.equal(others.length, report.groups.length - 1);
    assert.ok(others.some((line) => line.includes(`,'=cmd()|`)));
  });
});

describe('renderReportJson', () => {
  it('prints the report unchanged, in printable characters', async () => {
    const report = await sampleReport();
    const text = renderReportJson(report);
    assert.deepEqual(JSON.parse(text), report);
    assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069]/);
  });
});
