import type { Settings } from '../../../src/record/settings';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accessOf, type Caller, type CallerRules } from '../../../src/server/access/caller';
import { HttpProblem } from '../../../src/server/http/http-problem';
import type { Access } from '../../../src/server/access/access';
import { testNames } from '../test-site';

const TOKEN = 'a-token-of-this-site';

function rules(
  names: Settings['serve_names'],
  admins: readonly string[] = [],
  visibility: Settings['visibility'] = 'all',
): CallerRules {
  return {
    settings: { serve_names: names, serve_admins: admins, visibility },
    tokens: { has: (token) => token === TOKEN },
    names: testNames,
    projectsOf: (user) => Promise.resolve([`project-of-${user}`]),
  };
}

const accessFor = (caller: Partial<Caller>, given: CallerRules): Promise<Access> =>
  accessOf({ uid: null, authorization: undefined, ...caller }, given);

describe('accessOf', () => {
  it('gives everybody all jobs where the site hides no names', async () => {
    for (const uid of [null, 0, 1001, 4242]) assert.deepEqual(await accessFor({ uid }, rules('all')), { level: 'all' });
  });

  it('gives a user their own jobs where the site hides names, and no own jobs over HTTP', async () => {
    for (const level of ['anonymous', 'own'] as const) {
      assert.deepEqual(await accessFor({ uid: 1001 }, rules(level)), { level, user: 'alice' });
      assert.deepEqual(await accessFor({ uid: 4242 }, rules(level)), { level, user: null });
      assert.deepEqual(await accessFor({ uid: null }, rules(level)), { level, user: null });
    }
  });

  it('follows the stricter of visibility and serve_names', async () => {
    const accesses = async (
      names: Settings['serve_names'],
      visibility: Settings['visibility'],
    ): Promise<readonly Access[]> =>
      Promise.all([1001, null].map((uid) => accessFor({ uid }, rules(names, [], visibility))));
    const of = (kind: 'own' | 'anonymous'): readonly Access[] => [
      { level: kind, user: 'alice' },
      { level: kind, user: null },
    ];
    for (const names of ['all', 'anonymous', 'own'] as const)
      assert.deepEqual(await accesses(names, 'own'), of('own'), names);
    for (const visibility of ['all', 'project', 'own'] as const)
      assert.deepEqual(await accesses('own', visibility), of('own'), visibility);
    assert.deepEqual(await accesses('anonymous', 'all'), of('anonymous'));
    for (const names of ['all', 'anonymous'] as const)
      assert.deepEqual(await accesses(names, 'project'), [
        { level: 'project', user: 'alice', projects: ['project-of-alice'], named: names === 'all' },
        { level: 'project', user: null, projects: [], named: names === 'all' },
      ]);
    assert.deepEqual(await accessFor({ uid: 1003 }, rules('all', ['carol'], 'own')), { level: 'all' });
    assert.deepEqual(await accessFor({ uid: 0 }, rules('all', [], 'own')), { level: 'all' });
  });

  it('gives all jobs to root and to admins by name or group, and to nobody else', async () => {
    const all = { level: 'all' };
    assert.deepEqual(await accessFor({ uid: 0 }, rules('own')), all);
    assert.deepEqual(await accessFor({ uid: 1003 }, rules('own', ['carol'])), all);
    assert.deepEqual(await accessFor({ uid: 1001 }, rules('own', ['@nobody-knows', '@staff'])), all);
    assert.deepEqual(await accessFor({ uid: 1003 }, rules('own', ['@staff', 'alice', '@carol'])), {
      level: 'own',
      user: 'carol',
    });
    assert.deepEqual(await accessFor({ uid: 1001 }, rules('own', ['staff', '@'])), { level: 'own', user: 'alice' });
    assert.deepEqual(await accessFor({ uid: 4242 }, rules('own', ['', '4242'])), { level: 'own', user: null });
  });

  it('gives all jobs to the holder of a token, and refuses a wrong token', async () => {
    assert.deepEqual(await accessFor({ authorization: `Bearer ${TOKEN}` }, rules('own')), { level: 'all' });
    assert.deepEqual(await accessFor({ authorization: `bearer  ${TOKEN} ` }, rules('own')), { level: 'all' });
    for (const names of ['all', 'own'] as const)
      await assert.rejects(
        accessFor({ uid: 1001, authorization: 'Bearer wrong' }, rules(names)),
        (error: unknown) =>
          error instanceof HttpProblem && error.httpStatus === 401 && error.headers['WWW-Authenticate'] === 'Bearer',
      );
  });

  it('ignores an authorization without a token: a proxy may have its own users', async () => {
    for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer ', '', 'Bearer a b', `Token ${TOKEN}`])
      assert.deepEqual(await accessFor({ authorization }, rules('own')), { level: 'own', user: null }, authorization);
  });
});
