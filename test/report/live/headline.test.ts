import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ViewTimes } from '../../../src/live/cluster-view';
import { whenText } from '../../../src/report/live/headline';
import { renderHostsJson, renderJobsJson } from '../../../src/report/live/json';
import { renderJobs } from '../../../src/report/live/jobs';
import { AT } from '../../live/snapshots';
import { liveScreen, NOW, sampleView } from './sample-view';

const ago = (seconds: number): number => NOW.getTime() - seconds * 1000;

const TIMES: ViewTimes = {
  hosts: ago(5),
  list: ago(1),
  usage: ago(24),
  pending: ago(7),
  oursOldest: ago(40),
  oursNewest: ago(3),
};

const when = (times: Partial<ViewTimes>, rows: 'hosts' | 'list' | 'pending' = 'list', width = 120): string =>
  whenText({ times: { ...TIMES, ...times } }, rows, liveScreen({ width }));

describe('the age of the figures', () => {
  it('is shown for each part where the parts differ', () => {
    assert.match(when({}), /^\d\d:\d\d:02: list 1 s, usage 24 s, ours 3 to 40 s old$/);
    assert.match(when({}, 'hosts'), /^\d\d:\d\d:58: hosts 5 s, usage 24 s, ours 3 to 40 s old$/);
    assert.match(when({}, 'pending'), /^\d\d:\d\d:56, 7 s old$/);
    assert.match(when({ oursOldest: ago(200) }), /ours 3 s to 3 min old$/);
    assert.match(when({ usage: null, oursOldest: null, oursNewest: null, list: ago(9) }), /^\S+, 9 s old$/);
  });

  it('of a fresh list is not that of its oldest part', () => {
    const text = when({ list: ago(0), usage: ago(300), oursOldest: ago(1), oursNewest: ago(1) });
    assert.match(text, /^\d\d:\d\d:03: list 0 s, usage 5 min, ours 1 s old$/);
  });

  it('is one number where all parts have one age, and left out where all are fresh', () => {
    const same = { list: ago(3), usage: ago(3), oursOldest: ago(3), oursNewest: ago(3) };
    assert.match(when(same), /^\d\d:\d\d:00, 3 s old$/);
    assert.match(when({ list: ago(1), usage: ago(0), oursOldest: null, oursNewest: null }), /^\d\d:\d\d:02$/);
    assert.equal(when({ hosts: null, list: null, usage: null, pending: null, oursOldest: null, oursNewest: null }), '');
  });

  it('is a range on a narrow screen', () => {
    assert.match(when({}, 'list', 80), /^\d\d:\d\d:02, 1 to 40 s old$/);
  });

  it('is given for each part in the view, on the screen and in JSON', () => {
    const view = sampleView();
    assert.deepEqual(
      [view.times.hosts, view.times.list, view.times.usage, view.times.pending].map((at) => at === AT),
      [true, true, true, true],
    );
    const newest = Math.max(...view.jobs.flatMap(({ parts }) => parts.flatMap(({ ours }) => ours?.at ?? [])));
    assert.equal(view.times.oursNewest, newest);
    const shown = { ...view, times: TIMES };
    const [head] = renderJobs({ view: shown, jobs: shown.jobs, pending: null }, liveScreen({ width: 120 }));
    assert.match(head ?? '', /list 1 s, usage 24 s, ours 3 to 40 s old$/);
    for (const json of [
      renderJobsJson({ view: shown, jobs: shown.jobs, pending: null }),
      renderHostsJson({ view: shown, hosts: shown.hosts, details: false }),
    ]) {
      const printed = JSON.parse(json) as Readonly<Record<string, unknown>>;
      assert.equal(printed.list_at, new Date(ago(1)).toISOString());
      assert.equal(printed.hosts_at, new Date(ago(5)).toISOString());
      assert.equal(printed.usage_at, new Date(ago(24)).toISOString());
      assert.equal(printed.oldest_figures_at, new Date(ago(40)).toISOString());
      assert.equal(printed.newest_figures_at, new Date(ago(3)).toISOString());
    }
  });
});
