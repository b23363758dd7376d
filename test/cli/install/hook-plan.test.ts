import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planHooks, type HookScope, type OurHooks } from '../../../src/cli/install/hook-plan';
import type { Site } from '../../../src/gridengine/site';
import { briefly, DIRECTORY, globalText, hostText, ourLine, queueText, siteOf } from './sites';

const ours: OurHooks = { directory: DIRECTORY, privileged: true };
const everywhere: HookScope = { hosts: null, queues: null };

function planned(site: Site, scope: Partial<HookScope> = {}): string[] {
  const plan = planHooks(site, { ...everywhere, ...scope }, ours);
  assert.deepEqual(plan.problems, []);
  return briefly(plan.changes);
}

describe('planHooks', () => {
  it('sets both hooks in the global configuration, for every execution host', () => {
    const plan = planHooks(siteOf(), everywhere, ours);
    assert.deepEqual(briefly(plan.changes), [
      `global prolog: ${ourLine('prolog')}`,
      `global epilog: ${ourLine('epilog')}`,
    ]);
    assert.deepEqual(plan.changes[0], {
      target: { kind: 'global' },
      stage: 'prolog',
      old: 'none',
      new: ourLine('prolog'),
    });
    assert.deepEqual(plan.hosts, ['ge1', 'ge2']);
  });

  it('changes nothing where all hooks are ours', () => {
    const global = globalText(ourLine('prolog'), ourLine('epilog', 'sgeadmin@/site/epilog $host'));
    assert.deepEqual(planned(siteOf({ global })), []);
    assert.deepEqual(planned(siteOf({ global }), { hosts: ['ge1'] }), []);
    assert.deepEqual(planned(siteOf({ global }), { queues: ['all.q'] }), []);
  });

  it("chains the site's own hooks, wherever they are, and leaves a queue's NONE to the configuration", () => {
    const site = siteOf({
      global: globalText('root@/site/prolog.sh $host $job_id'),
      locals: { ge1: hostText('prolog  /site/ge1.sh a,b c'), ge2: hostText() },
      queue: queueText('NONE,[ge2=/bin/true $queue]', 'sgeadmin@/site/epilog x=y,[@allhosts=NONE]'),
    });
    assert.deepEqual(planned(site), [
      `global prolog: ${ourLine('prolog', 'root@/site/prolog.sh $host $job_id')}`,
      `host ge1 prolog: ${ourLine('prolog', '/site/ge1.sh a,b c')}`,
      `queue all.q prolog: NONE,[ge2=${ourLine('prolog', '/bin/true $queue')}]`,
      `global epilog: ${ourLine('epilog')}`,
      `queue all.q epilog: ${ourLine('epilog', 'sgeadmin@/site/epilog x=y')},[@allhosts=NONE]`,
    ]);
  });

  it('replaces a line of ours with another prefix, and does not wrap it', () => {
    const old = 'root@/usr/bin/env -i /bin/sh -p /opt/qmemacct-0.0/hooks/prolog.sh $job_id $ja_task_id -- /site/prolog';
    assert.deepEqual(planned(siteOf({ global: globalText(old, ourLine('epilog')) })), [
      `global prolog: ${ourLine('prolog', '/site/prolog')}`,
    ]);
  });

  it('sets hooks for some hosts only: in their configurations, and as host values of queues', () => {
    const site = siteOf({
      global: globalText('/site/prolog'),
      queue: queueText('NONE', '/site/queue-epilog'),
    });
    const plan = planHooks(site, { hosts: ['@late'], queues: null }, ours);
    assert.deepEqual(briefly(plan.changes), [
      `host ge2 prolog: ${ourLine('prolog', '/site/prolog')}`,
      `host ge2 epilog: ${ourLine('epilog')}`,
      `queue all.q epilog: /site/queue-epilog,[ge2=${ourLine('epilog', '/site/queue-epilog')}]`,
    ]);
    assert.equal(plan.changes[0]?.old, null);
    assert.deepEqual(plan.hosts, ['ge2']);
  });

  it('sets hooks in a queue, and chains what the configuration would have run there', () => {
    const site = siteOf({ global: globalText('/site/prolog'), locals: { ge2: hostText('prolog /site/ge2') } });
    assert.deepEqual(planned(site, { queues: ['all.q'] }), [
      `queue all.q prolog: ${ourLine('prolog', '/site/prolog')},[ge2=${ourLine('prolog', '/site/ge2')}]`,
      `queue all.q epilog: ${ourLine('epilog')}`,
    ]);
    assert.deepEqual(planned(site, { queues: ['all.q'], hosts: ['ge2'] }), [
      `queue all.q prolog: NONE,[ge2=${ourLine('prolog', '/site/ge2')}]`,
      `queue all.q epilog: NONE,[ge2=${ourLine('epilog')}]`,
    ]);
  });

  it("refuses to chain another user's hook without root, and says so", () => {
    const site = siteOf({ global: globalText('root@/site/prolog') });
    const { problems } = planHooks(site, everywhere, { ...ours, privileged: false });
    assert.equal(problems.length, 1);
    assert.match(
      problems[0] ?? '',
      /^global configuration: prolog "root@\/site\/prolog": .* runs as root.*--plain away$/,
    );
    const plain = planHooks(siteOf({ global: globalText('/site/prolog') }), everywhere, { ...ours, privileged: false });
    assert.equal(plain.changes[0]?.new, `/bin/sh -p ${DIRECTORY}/prolog.sh $job_id $ja_task_id -- /site/prolog`);
  });

  it('reports unknown hosts, groups and queues, and values that are ambiguous to Grid Engine', () => {
    const problemsOf = (scope: HookScope, site = siteOf()): readonly string[] => planHooks(site, scope, ours).problems;
    assert.match(problemsOf({ hosts: ['nohost'], queues: null })[0] ?? '', /^nohost: no execution host/);
    assert.match(problemsOf({ hosts: ['@no'], queues: null })[0] ?? '', /^@no: no such host group/);
    assert.match(problemsOf({ hosts: null, queues: ['no.q'] })[0] ?? '', /^no.q: no such cluster queue/);
    const ambiguous = siteOf({ queue: queueText('NONE,[@allhosts=/site/a],[@late=/site/b]') });
    assert.match(problemsOf(everywhere, ambiguous)[0] ?? '', /^queue all.q: prolog: host ge2 gets 2 different values/);
  });
});
