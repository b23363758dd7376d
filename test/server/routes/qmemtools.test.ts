import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewCluster } from '../../../src/live/view';
import { LiveState } from '../../../src/server/live/live-state';
import { answer, AT, noAnswer, snapshot, workedExample } from '../../live/snapshots';
import { ask, liveStateOf, NOW, startTestSite, type Got } from '../test-site';
import { USUAL_RULES } from '../../../src/record/request-rules';

/** What the original server answered for the worked example, except that node02's two tasks of 103 are summed. */
const QHOST = {
  node01: {
    num_proc: '16',
    mem_total: '62.8G',
    jobs: {
      101: { jobcount: 1, master: true, taskid: [], jobname: 'serial', owner: 'alice' },
      102: { jobcount: 1, master: true, taskid: ['1', '2'], jobname: 'arr', owner: 'alice' },
      103: { jobcount: 2, master: true, taskid: [], jobname: 'mpi', owner: 'bob' },
    },
  },
  node02: {
    num_proc: '16',
    mem_total: '62.8G',
    jobs: {
      102: { jobcount: 1, master: true, taskid: ['3'], jobname: 'arr', owner: 'alice' },
      103: { jobcount: 2, master: false, taskid: [], jobname: 'mpi', owner: 'bob' },
    },
  },
};
const QSTAT = {
  alice: {
    uid: '1001',
    jobs: {
      101: {
        requested_h_vmem_strval: '4G',
        requested_h_vmem_dblval: 4294967296,
        hostname: { node01: { master: '1610612736.000000' } },
      },
      102: {
        requested_h_vmem_strval: '2G',
        requested_h_vmem_dblval: 2147483648,
        hostname: {
          node01: { 1: '1073741824.000000', 2: '536870912.000000' },
          node02: { 3: '268435456.000000' },
        },
      },
    },
  },
  bob: {
    uid: '1002',
    jobs: {
      103: {
        requested_h_vmem_strval: '3G',
        requested_h_vmem_dblval: 3221225472,
        hostname: {
          node01: { master: '2147483648.000000', slave: '1073741824.000000' },
          node02: { slave: '1342177280.000000' },
        },
      },
    },
  },
};

interface Envelope {
  readonly success: boolean;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const envelope = (got: Got): Envelope => {
  assert.equal(got.status, 200);
  assert.equal(got.headers['content-type'], 'application/json');
  const found = got.json() as Envelope;
  assert.deepEqual(Object.keys(found), ['success', 'message', 'data']);
  return found;
};

describe('/qhost and /qstat', () => {
  it('answer as QmemTools did', async (t) => {
    const site = await startTestSite(t);
    assert.deepEqual(envelope(await site.get('/qhost')), { success: true, message: '', data: QHOST });
    const qstat = await site.get('/qstat');
    assert.deepEqual(envelope(qstat), { success: true, message: '', data: QSTAT });
    assert.match(qstat.text, /"requested_h_vmem_dblval":4294967296\.0[,}]/);
  });

  it('hide names as the site chooses', async (t) => {
    const anonymous = await startTestSite(t, { settings: { serve_names: 'anonymous' } });
    assert.deepEqual(Object.keys(envelope(await anonymous.get('/qstat')).data), ['anonymous']);
    assert.doesNotMatch((await anonymous.get('/qhost')).text, /alice|bob|serial|mpi/);
    const own = await startTestSite(t, { settings: { serve_names: 'own' } });
    // QmemTools' message for an empty answer.
    assert.deepEqual(envelope(await own.get('/qstat')), { success: false, message: 'No data for qstat', data: {} });
    const { node01 } = envelope(await own.get('/qhost')).data;
    assert.deepEqual(node01, { num_proc: '16', mem_total: '62.8G', jobs: {} });
  });
});

describe('the faults of QmemTools’ server', () => {
  it('1: a refresh that crashes is reported, and stops neither the next refresh nor the answers', async (t) => {
    const lines: string[] = [];
    let crash = false;
    const live = new LiveState({
      makeView: (given) => {
        if (crash) throw new Error('no h_vmem');
        return viewCluster(given, [], { rules: USUAL_RULES, nowMs: NOW });
      },
      log: (line) => void lines.push(line),
      overdueMs: 600_000,
      now: () => NOW,
    });
    const site = await startTestSite(t, { live });
    crash = true;
    live.put(workedExample());
    const none = envelope(await site.get('/qhost'));
    assert.equal(none.success, false);
    assert.match(none.message, /^No data for qhost: .*could not be put together \(no h_vmem\)/);

    crash = false;
    live.put(workedExample());
    assert.equal(envelope(await site.get('/qhost')).success, true);

    crash = true;
    live.put(snapshot());
    const stale = envelope(await site.get('/qhost'));
    assert.equal(stale.success, false);
    assert.match(stale.message, /no h_vmem.*; the data is 5 s old$/);
    assert.deepEqual(stale.data, QHOST);
    assert.equal(lines.length, 2);

    crash = false;
    live.put(workedExample());
    assert.deepEqual(envelope(await site.get('/qhost')), { success: true, message: '', data: QHOST });
  });

  it('2: a request before the first refresh is answered at once, and so are the next ones', async (t) => {
    const live = liveStateOf(null);
    const site = await startTestSite(t, { live });
    for (const name of ['qhost', 'qstat']) {
      const early = await Promise.all(Array.from({ length: 10 }, () => site.get(`/${name}`)));
      for (const got of early) {
        const { success, message, data } = envelope(got);
        assert.deepEqual([success, data], [false, {}]);
        assert.match(message, new RegExp(`^No data for ${name}: nothing has been asked of qmaster yet`));
      }
    }
    live.put(snapshot({ hosts: noAnswer([], 'qmaster is down'), running: noAnswer([], 'qmaster is down') }));
    assert.match(envelope(await site.get('/qhost')).message, /^No data for qhost: qmaster is down$/);
    const got = await site.get('/v1/live');
    assert.deepEqual([got.status, got.headers['retry-after']], [503, '5']);
    assert.match(got.text, /nothing is known of the cluster yet: qmaster is down/);
    live.put(workedExample());
    assert.equal(envelope(await site.get('/qhost')).success, true);
    assert.equal((await site.get('/v1/live')).status, 200);
  });

  it('8: failing refreshes keep the last data, with its growing age', async (t) => {
    let now = NOW;
    const live = liveStateOf(workedExample(), { now: () => now });
    const site = await startTestSite(t, { live, now: () => now });
    const { hosts, running, ...rest } = workedExample();
    for (const later of [10_000, 20_000, 300_000]) {
      now = AT + later;
      const failed = { problem: 'qmaster does not answer', triedAt: now };
      live.put({ ...rest, hosts: { ...hosts, ...failed }, running: { ...running, ...failed } });
      for (const [name, data] of [
        ['qhost', QHOST],
        ['qstat', QSTAT],
      ] as const) {
        const got = envelope(await site.get(`/${name}`));
        assert.deepEqual([got.success, got.data], [false, data]);
        assert.equal(got.message, `qmaster does not answer; the data is ${later / 1000} s old`);
      }
      now += 5000;
      assert.match(envelope(await site.get('/qhost')).message, new RegExp(`${later / 1000 + 5} s old$`));
      const view = (await site.get('/v1/live')).json() as { readonly problems: readonly string[]; readonly at: string };
      assert.deepEqual([view.problems, view.at], [['qmaster does not answer'], new Date(AT).toISOString()]);
    }
    live.put({ ...rest, hosts: answer(hosts.value), running: answer(running.value) });
    assert.equal(envelope(await site.get('/qstat')).success, true);
  });

  it('8: a poller that has stopped is reported with the age of the data', async (t) => {
    let now = NOW;
    const live = liveStateOf(workedExample(), { now: () => now });
    const site = await startTestSite(t, { live, now: () => now });
    now += 600_000;
    const { success, message, data } = envelope(await ask({ socketPath: site.socket }, { path: '/qhost' }));
    assert.deepEqual([success, data], [false, QHOST]);
    assert.match(message, /qmaster is no longer asked; .* 605 s old$/);
  });
});
