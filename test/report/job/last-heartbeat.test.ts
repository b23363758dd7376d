import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heartbeatOf, runningLabel } from '../../../src/report/job/running';
import type { JobRecord } from '../../../src/record/record';
import { ordinary, running } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

const screen = testScreen();
const aged = (seconds: number): JobRecord => ({ ...running, revision: screen.now.getTime() - seconds * 1000 });

describe('heartbeatOf', () => {
  it('is null for a fresh heartbeat and for a job that has ended', () => {
    assert.equal(heartbeatOf(aged(25), screen), null);
    assert.equal(heartbeatOf(aged(-3), screen), null);
    assert.equal(heartbeatOf({ ...ordinary, revision: 0 }, screen), null);
  });

  it('calls a host silent after five missed heartbeats of the site’s interval', () => {
    assert.deepEqual(heartbeatOf(aged(43), screen), { seconds: 43, silent: false });
    assert.deepEqual(heartbeatOf(aged(300), screen), { seconds: 300, silent: false });
    assert.deepEqual(heartbeatOf(aged(301), screen), { seconds: 301, silent: true });
    assert.equal(heartbeatOf(aged(301), testScreen({ heartbeatSeconds: 600 }))?.silent, false);
    assert.equal(heartbeatOf(aged(301), testScreen({ heartbeatSeconds: 0 }))?.silent, true);
  });
});

describe('runningLabel', () => {
  it('adds the age of an old heartbeat', () => {
    assert.equal(runningLabel(aged(2), screen), 'running');
    assert.equal(runningLabel(aged(43), screen), 'running, 43 s ago');
    assert.equal(runningLabel(aged(3 * 3600), screen), 'no heartbeat since 2026-11-20 11:14:14');
  });
});
