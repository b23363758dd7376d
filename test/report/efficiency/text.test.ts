import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displayWidth } from '../../../src/report/screen/text-width';
import { renderReport } from '../../../src/report/efficiency/text';
import { assertGolden } from '../golden';
import { testScreen } from '../screens';
import { sampleReport } from './sample-report';

process.env.TZ = 'Europe/Berlin';

describe('renderReport', () => {
  it('shows a night of a site', async () =>
    assertGolden('report-night', renderReport(await sampleReport(), testScreen())));

  it("shows one owner's jobs, on a narrow ASCII terminal", async () =>
    assertGolden(
      'report-owner',
      renderReport(await sampleReport({ owner: 'ljensen', by: 'job_name' }), testScreen({ width: 72, unicode: false })),
    ));

  it('keeps within any width, harmless', async () => {
    const report = await sampleReport({ by: 'job_name' });
    for (const [width, unicode] of [
      [60, true],
      [80, false],
      [140, true],
    ] as const)
      for (const line of renderReport(report, testScreen({ width, unicode }))) {
        assert.ok(displayWidth(line) <= width, line);
        assert.doesNotMatch(line, unicode ? /\p{C}/u : /[^ -~]/);
      }
  });

  it('says so where no job ended', async () => {
    const lines = renderReport(await sampleReport({}, []), testScreen());
    assert.equal(lines.at(-1), '  No job ended in this time.');
  });
});
