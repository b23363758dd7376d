import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hookConfText, parseHookConf, type HookConf } from '../../../src/cli/install/hook-conf';

const CONF: HookConf = {
  state: '/var/lib/qmemacct',
  run: '/run/qmemacct',
  settings: '/etc/qmemacct/qmemacct.toml',
  node: "/opt/it's here/$(node)",
  program: '/opt/qmemacct/0.1.0-0123456789',
  arm_wait: '0.05',
  cgroup: 'auto',
  scope: 'node',
  cluster: 'north',
};

describe('hook.conf', () => {
  it('gives the shell the values that were written', () => {
    const script = `${hookConfText(CONF)}\nprintf '%s\\n' "$state" "$run" "$settings" "$node" "$program" "$arm_wait" "$cgroup" "$scope" "$cluster"`;
    const words = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
    assert.deepEqual(words, [
      CONF.state,
      CONF.run,
      CONF.settings,
      CONF.node,
      CONF.program,
      CONF.arm_wait,
      CONF.cgroup,
      CONF.scope,
      CONF.cluster,
    ]);
  });

  it('is parsed into the values that were written, whatever they hold', () => {
    const word = fc.string().map((text) => text.replace(/\n/g, ''));
    fc.assert(
      fc.property(
        fc.record({
          state: word,
          run: word,
          settings: word,
          node: word,
          program: word,
          arm_wait: word,
          cgroup: word,
          scope: word,
          cluster: word,
        }),
        (conf) => {
          assert.deepEqual(parseHookConf(hookConfText(conf)), { ...conf });
        },
      ),
    );
  });

  it('is refused when any line is missing', () => {
    const lines = hookConfText(CONF).split('\n');
    for (let gone = 1; gone <= 9; gone++)
      assert.equal(parseHookConf(lines.filter((_, index) => index !== gone).join('\n')), null);
  });
});
