import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planHooks, type Change, type HookScope } from '../../../src/cli/install/hook-plan';
import { placesWithOurs, planRemoval } from '../../../src/cli/install/removal-plan';
import { configurationValue, serialise, withValue } from '../../../src/gridengine/configuration';
import type { Site } from '../../../src/gridengine/site';
import { briefly, DIRECTORY, globalText, hostText, ourLine, queueText, siteOf, type SiteTexts } from './sites';

/** What `qconf` would print after these changes. */
function after(texts: SiteTexts, changes: readonly Change[]): SiteTexts {
  const apply = (text: string, kind: string, name: string | null): string => {
    const site = siteOf({ global: text });
    return changes
      .filter(({ target }) => target.kind === kind && (target.kind === 'global' || target.name === name))
      .reduce((now, change) => {
        const result = withValue(siteOf({ global: now }).global, change.stage, change.new);
        assert.ok(result.ok);
        return serialise(result.value);
      }, serialise(site.global));
  };
  const hosts = new Set([
    ...Object.keys(texts.locals ?? {}),
    ...changes.flatMap(({ target }) => (target.kind === 'host' ? [target.name] : [])),
  ]);
  return {
    global: apply(texts.global ?? globalText(), 'global', null),
    locals: Object.fromEntries([...hosts].map((host) => [host, apply(texts.locals?.[host] ?? '', 'host', host)])),
    queue: apply(texts.queue ?? queueText(), 'queue', 'all.q'),
  };
}

const SITE: SiteTexts = {
  global: globalText('root@/site/prolog.sh $host $job_id'),
  locals: { ge1: hostText('prolog  /site/ge1.sh a,b c') },
  queue: queueText('NONE,[ge2=/bin/true $queue]', 'sgeadmin@/site/epilog x=y,[@allhosts=NONE]'),
};

const installed = (site: Site, scope: Partial<HookScope> = {}): readonly Change[] =>
  planHooks(site, { hosts: null, queues: null, ...scope }, { directory: DIRECTORY, privileged: true }).changes;

const SCOPES: readonly Partial<HookScope>[] = [
  {},
  { hosts: ['ge2'] },
  { hosts: ['@allhosts'] },
  { queues: ['all.q'] },
  { queues: ['all.q'], hosts: ['ge1'] },
];

describe('planRemoval', () => {
  it('restores every value after any installation', () => {
    for (const scope of SCOPES) {
      const changes = installed(siteOf(SITE), scope);
      const now = after(SITE, changes);
      const removal = planRemoval(siteOf(now), changes, [DIRECTORY]);
      assert.deepEqual([removal.remarks, removal.problems], [[], []]);
      const back = after(now, removal.changes);
      assert.equal(back.global, SITE.global);
      assert.equal(back.queue, SITE.queue);
      assert.equal(back.locals?.ge1, SITE.locals?.ge1);
      assert.equal(back.locals?.ge2 ?? '', '');
    }
  });

  it('restores what was there before an installation in two steps', () => {
    const first = installed(siteOf(SITE), { hosts: ['ge2'] });
    const half = after(SITE, first);
    const second = installed(siteOf(half));
    const now = after(half, second);
    const { changes, remarks } = planRemoval(siteOf(now), [...first, ...second], [DIRECTORY]);
    assert.deepEqual(remarks, []);
    assert.deepEqual(after(now, changes), { ...SITE, locals: { ...SITE.locals, ge2: '' } });
  });

  it("takes the site's hook from our line where no backup has it, and says so", () => {
    const now = after(SITE, installed(siteOf(SITE)));
    const { changes, remarks } = planRemoval(siteOf(now), [], [DIRECTORY]);
    assert.ok(briefly(changes).includes('queue all.q prolog: NONE,[ge2=/bin/true $queue]'));
    assert.ok(briefly(changes).includes('global epilog: NONE'));
    assert.match(remarks[0] ?? '', /^global configuration: prolog: no backup shows/);
  });

  it('keeps what was changed by hand behind our line, and shows what the backup has', () => {
    const changes = installed(siteOf({}));
    const edited = siteOf({ global: globalText(ourLine('prolog', '/site/new'), ourLine('epilog')) });
    const removal = planRemoval(edited, changes, [DIRECTORY]);
    assert.deepEqual(briefly(removal.changes), ['global prolog: /site/new', 'global epilog: none']);
    assert.match(removal.remarks.join(), /prolog: was changed after the installation.*the backup has "none"/);
  });

  it('touches nothing that is not ours', () => {
    assert.deepEqual(planRemoval(siteOf(SITE), [], [DIRECTORY]), { changes: [], remarks: [], problems: [] });
    assert.deepEqual(placesWithOurs(siteOf(SITE), [DIRECTORY]), []);
    const one = siteOf({ queue: queueText(`NONE,[@late=${ourLine('prolog')}]`) });
    assert.deepEqual(placesWithOurs(one, [DIRECTORY]), ['queue all.q']);
    assert.equal(configurationValue(one.global, 'prolog'), 'none');
  });
});
