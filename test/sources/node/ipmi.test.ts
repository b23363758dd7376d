import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { ipmi } from '../../../src/sources/node/ipmi';
import { parseIpmiPower } from '../../../src/sources/node/ipmi-power';
import { isUnavailable, THIS_MACHINE, type Unavailable } from '../../../src/sources/source';
import { garbageText } from './garbage';
import { emptyTree, opened, unsound, values, type Tree } from './tree';

// No BMC was at hand: the commands are scripts that print what the real ones do.
const FREEIPMI = `Current Power                        : 332 Watts
Minimum Power over sampling duration : 68 watts
Maximum Power over sampling duration : 504 watts
Average Power over sampling duration : 348 watts
Time Stamp                           : 11/03/2023 - 08:36:29
Statistics reporting time period     : 2685198000 milliseconds
Power Measurement                    : Active
`;
const IPMITOOL = `
    Instantaneous power reading:                   212 Watts
    Minimum during sampling period:                 68 Watts
    Maximum during sampling period:                504 Watts
    Average power reading over sample period:      199 Watts
    IPMI timestamp:                           Thu Feb 15 08:36:01 2024
    Sampling period:                          00000001 Seconds.
    Power reading state is:                   activated

`;
const IPMIUTIL = `ipmiutil dcmi ver 3.17
-- BMC version 6.10, IPMI version 2.0
DCMI Power Management:          Supported
  Current Power:                   49 Watts
  Min Power over sample duration:  6 Watts
  Max Power over sample duration:  304 Watts
  Avg Power over sample duration:  47 Watts
  Power Limit:       896 Watts (inactive)
`;
const DELL = 'System Power over 5 seconds: 401 W\nPeak: 500 W\n';

/** A script as the configured command. */
function script(tree: Tree, text: string): string {
  tree.write('bmc', `#!/bin/sh\n${text}\n`);
  const path = join(tree.root, 'bmc');
  chmodSync(path, 0o755);
  return path;
}

const printing = (text: string): string => {
  const tree = emptyTree();
  tree.write('output', text);
  return script(tree, `cat ${join(tree.root, 'output')}`);
};

const reasonOf = (t: TestContext, command: string, timeout = 60): Unavailable => {
  const read = opened(t, ipmi, { ...THIS_MACHINE, options: { command, timeout } })();
  assert.ok(isUnavailable(read));
  assert.ok(!read.unavailable.includes('\n'));
  return read;
};

describe('parseIpmiPower', () => {
  it('understands FreeIPMI, ipmitool, ipmiutil and lines of another command', () => {
    assert.deepEqual(parseIpmiPower(FREEIPMI), { current: 332, average: 348 });
    assert.deepEqual(parseIpmiPower(IPMITOOL), { current: 212, average: 199 });
    assert.deepEqual(parseIpmiPower(IPMIUTIL), { current: 49, average: 47 });
    assert.deepEqual(parseIpmiPower(DELL), { current: 401, average: null });
  });

  it('takes 0 W as no measurement and ignores other units', () => {
    assert.deepEqual(parseIpmiPower(FREEIPMI.replaceAll(/\d+ (?=watts)/gi, '0 ')), { current: null, average: null });
    assert.deepEqual(parseIpmiPower('Inlet: 22 C\nEnergy: 5 Wh\nTime: 3 weeks\n'), { current: null, average: null });
  });

  it('yields possible powers or null from garbage', () => {
    fc.assert(
      fc.property(garbageText(FREEIPMI, IPMITOOL, IPMIUTIL, DELL), (text) => {
        for (const watts of Object.values(parseIpmiPower(text)) as (number | null)[])
          assert.ok(watts === null || (watts > 0 && watts < 1e6));
      }),
    );
  });
});

describe('ipmi', () => {
  it('runs the command and reads its power', (t) => {
    const read = opened(t, ipmi, { ...THIS_MACHINE, options: { command: printing(FREEIPMI) } });
    assert.deepEqual(values(read()), { ipmi_power_watts: 332, ipmi_average_power_watts: 348 });
    assert.deepEqual(unsound(ipmi, read()), []);
  });

  it('splits the command at blanks, without a shell, and gives it a plain environment', () => {
    const tree = emptyTree();
    const words = join(tree.root, 'words');
    const path = script(
      tree,
      `for word; do printf '%s\\n' "$word" >> ${words}; done; echo "$PATH:$HOME:$LC_ALL" >> ${words}; echo "x: 5 W"`,
    );
    const open = ipmi.open({
      ...THIS_MACHINE,
      options: { command: ` ${path}  dcmi "power $HOME ; reading`, timeout: 60 },
    });
    assert.ok(!isUnavailable(open));
    assert.equal(readFileSync(words, 'utf8'), 'dcmi\n"power\n$HOME\n;\nreading\n/usr/sbin:/usr/bin:/sbin:/bin::C\n');
  });

  it('says in one line that the command is missing, and how to fix it', (t) => {
    const absent = reasonOf(t, '/nonexistent/ipmi-dcmi --get-system-power-statistics');
    assert.equal(absent.unavailable, 'no /nonexistent/ipmi-dcmi');
    assert.match(absent.fix ?? '', /install FreeIPMI/);
    assert.match(reasonOf(t, 'ipmi-dcmi').unavailable, /not an absolute path/);
    assert.match(reasonOf(t, '  ').unavailable, /no command is configured/);
    assert.match(reasonOf(t, '/etc/passwd').unavailable, /can't be executed/);
  });

  it('says in one line how the command failed', (t) => {
    const failing = script(
      emptyTree(),
      'echo "ipmi_cmd_dcmi_get_power_reading: \\033[31mcommand invalid" >&2; echo more >&2; exit 3',
    );
    assert.match(
      reasonOf(t, failing).unavailable,
      /bmc: exit status 3, ipmi_cmd_dcmi_get_power_reading: .*command invalid$/,
    );
    assert.match(reasonOf(t, script(emptyTree(), 'kill -SEGV $$')).unavailable, /ended by SIGSEGV/);
    assert.match(reasonOf(t, printing('no power here\n')).unavailable, /bmc reports no power$/);
    const crash = script(emptyTree(), 'head -c 100000 /dev/zero');
    assert.match(reasonOf(t, crash).unavailable, /printed more than 64 KiB$/);
  });

  it('kills a command that takes too long, and returns even where the command left a child', (t) => {
    const tree = emptyTree();
    const pids = join(tree.root, 'pids');
    const path = script(tree, `sleep 60 & echo $$ $! > ${pids}; wait`);
    // On a busy machine the command may not have reached the echo after 0.3 s.
    for (let seconds = 0.3; !existsSync(pids) || readFileSync(pids, 'utf8') === ''; seconds *= 2) {
      assert.ok(seconds < 60);
      const said = reasonOf(t, path, seconds).unavailable;
      assert.equal(said.slice(said.indexOf('bmc')), `bmc took longer than ${seconds} s`);
    }
    const [command = 0, child = 0] = readFileSync(pids, 'utf8').trim().split(' ').map(Number);
    assert.ok(command > 0 && !existsSync(`/proc/${command}`));
    // The child still runs: nothing has ended it.
    process.kill(child, 'SIGKILL');
  });

  it('says why at each reading after the command has begun to fail', (t) => {
    const tree = emptyTree();
    tree.write('output', FREEIPMI);
    const read = opened(t, ipmi, {
      ...THIS_MACHINE,
      options: { command: script(tree, `cat ${join(tree.root, 'output')}`) },
    });
    tree.remove('output');
    const gone = read();
    assert.ok(isUnavailable(gone));
    assert.match(gone.unavailable, /bmc: exit status 1, cat: .*No such file/);
  });
});
