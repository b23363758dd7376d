import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { longestExpansion, parseHookCommand } from '../../src/gridengine/hook-command';

describe('parseHookCommand', () => {
  it('finds the user', () => {
    assert.deepEqual(parseHookCommand('root@/opt/a.sh  $job_id\t$host'), { user: 'root' });
    assert.deepEqual(parseHookCommand('/opt/a.sh x@y'), { user: null });
  });

  it('misreads a path with @ as Grid Engine does', () => {
    assert.deepEqual(parseHookCommand('/opt/v@2/a.sh'), { user: '/opt/v' });
  });

  it('returns null for NONE and where there is no command', () => {
    for (const value of ['NONE', 'none', '', ' ', 'root@']) assert.equal(parseHookCommand(value), null);
  });
});

describe('longestExpansion', () => {
  it('counts bytes with room for the variables', () => {
    assert.equal(longestExpansion('ä'), 2);
    assert.equal(longestExpansion('/x $job_id'), '/x '.length + 10);
    assert.ok(longestExpansion('$stdout_path') >= 1024);
  });
});
