import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const PROMTOOL = '/usr/bin/promtool';
export const noPromtool = !existsSync(PROMTOOL) && `${PROMTOOL} is not installed (Debian: prometheus)`;

/** Asserts that Prometheus' own check accepts the text. */
export function assertGood(text: string): void {
  const { status, stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], { input: text, encoding: 'utf8' });
  assert.deepEqual([status, stdout, stderr], [0, '', '']);
}
