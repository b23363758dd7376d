import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parseHookCommand } from '../../src/gridengine/hook-command';
import {
  composeHookCommand,
  recogniseHookCommand,
  unwrapHookCommand,
  type HookLine,
} from '../../src/gridengine/our-hook';

const directory = '/opt/qmemacct/0.1.0/hooks';
const plan: HookLine = { stage: 'prolog', directory, privileged: true, original: null };

function composed(changes: Partial<HookLine>): string {
  const result = composeHookCommand({ ...plan, ...changes });
  assert.ok(result.ok, result.ok ? '' : result.error);
  return result.value;
}

describe('composeHookCommand', () => {
  it('writes the privileged line that was tried on a cluster', () => {
    const expected = `root@/usr/bin/env -i /bin/sh -p ${directory}/prolog.sh $job_id $ja_task_id`;
    assert.equal(composed({}), expected);
    assert.equal(composed({ original: 'none' }), expected);
    assert.deepEqual(parseHookCommand(expected)?.user, 'root');
  });

  it('writes the line for the owner, and a chained hook verbatim', () => {
    const original = '/site/hook.sh  $job_id $job_name $stdout_path';
    assert.equal(
      composed({ stage: 'epilog', privileged: false, original }),
      `/bin/sh -p ${directory}/epilog.sh $job_id $ja_task_id -- ${original}`,
    );
  });

  it('chains a hook of another user in the privileged line only', () => {
    assert.match(composed({ original: 'acct@/site/a.sh' }), / -- acct@\/site\/a\.sh$/);
    assert.equal(composeHookCommand({ ...plan, privileged: false, original: 'acct@/site/a.sh' }).ok, false);
  });

  it('does not wrap its own line again', () => {
    const older = composed({ directory: '/opt/qmemacct/0.0.9/hooks', original: '/site/a.sh' });
    assert.equal(composed({ original: older }), composed({ original: '/site/a.sh' }));
  });

  it('writes the path of env that is given', () =>
    assert.match(composed({ env: '/opt/static/env' }), /^root@\/opt\/static\/env -i \/bin\/sh /));

  it('refuses directories that Grid Engine would misread, and hooks that are too long or no single line', () => {
    for (const bad of ['', 'opt/x', '/opt/a b', '/opt/$x', '/opt/a,b', '/opt/a[b', '/opt/a@b', '/opt/x/']) {
      assert.equal(composeHookCommand({ ...plan, directory: bad }).ok, false, bad);
    }
    for (const original of ['a\nb', 'a\\', `/x ${'y'.repeat(9_950)}`, `/x ${'$stdout_path '.repeat(10)}`]) {
      assert.equal(composeHookCommand({ ...plan, original }).ok, false, original.slice(0, 20));
    }
  });
});

describe('recogniseHookCommand', () => {
  it('recognises lines with other directories, variables and chained hooks', () => {
    assert.deepEqual(recogniseHookCommand(composed({ original: '/site/a.sh $host' })), {
      stage: 'prolog',
      directory,
      privileged: true,
      env: '/usr/bin/env',
      original: '/site/a.sh $host',
    });
    assert.equal(recogniseHookCommand(composed({ directory: '/opt/qmemacct-0.2.0/hooks' }))?.privileged, true);
    const withVariables =
      'root@/usr/bin/env -i PATH=/usr/bin LC_ALL=C /bin/sh -p /x/qmemacct/epilog.sh $job_id $ja_task_id';
    assert.equal(recogniseHookCommand(withVariables)?.stage, 'epilog');
  });

  it('requires qmemacct in the path, or a known directory', () => {
    const value = '/bin/sh -p /srv/ours/prolog.sh $job_id $ja_task_id';
    assert.equal(recogniseHookCommand(value), null);
    assert.equal(recogniseHookCommand(value, ['/srv/ours'])?.directory, '/srv/ours');
  });

  it('returns null for other lines', () => {
    const ours = composed({});
    for (const value of [
      'NONE',
      '/site/a.sh',
      `${ours} extra`,
      ours.replace('$ja_task_id', ''),
      ours.replace('-p', '-x'),
    ]) {
      assert.equal(recogniseHookCommand(value), null, value);
    }
  });
});

describe('unwrapHookCommand', () => {
  it('returns the site’s own value', () => {
    assert.equal(unwrapHookCommand(composed({ original: 'root@/a  b' })), 'root@/a  b');
    assert.equal(unwrapHookCommand(composed({})), 'NONE');
    assert.equal(unwrapHookCommand('/site/a.sh'), '/site/a.sh');
  });

  it('undoes every composition', () => {
    const originals = fc
      .string({ minLength: 1 })
      .filter((value) => value.trim() === value && !/[\n\r\0]|\\$/.test(value) && value.toLowerCase() !== 'none');
    fc.assert(fc.property(originals, (original) => assert.equal(unwrapHookCommand(composed({ original })), original)));
  });
});
