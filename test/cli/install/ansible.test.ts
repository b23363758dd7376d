import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { runProgram } from '../../../src/cli/program';
import { apart, apartOrNot } from '../../base/apart';
import { COMMAND } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeTerminal } from '../fake-terminal';

const playbook = readFileSync(join(packageRoot(), 'docs', 'examples', 'ansible.yml'), 'utf8');
const [forNodes = ''] = [...playbook.matchAll(/cmd: \/usr\/bin\/qmemacct (install --node .*)$/gm)].map(
  ([, words]) => words,
);

interface Answer {
  readonly changed: boolean;
  readonly steps: readonly string[];
  readonly activated: boolean;
  readonly self_test: { readonly ok: boolean; readonly problems: readonly string[] };
}

/** A directory for an installation, and the options that install into it. */
function host(): { readonly top: string; readonly options: readonly string[] } {
  const top = temporaryDirectory();
  mkdirSync(join(top, 'etc'));
  writeFileSync(
    join(top, 'etc', 'x.toml'),
    `state_dir = "${top}/state"\nrun_dir = "${top}/run"\naccounting = "${top}/accounting/accounting.db"\nlistener = false\n`,
  );
  return { top, options: ['--prefix', join(top, 'opt'), '--config', join(top, 'etc', 'x.toml')] };
}

describe("the playbook's command for execution hosts", apartOrNot, () => {
  it('says whether it changed anything, and changes nothing the second time', () => {
    const { top, options } = host();
    // The real command, which can't reach the timers and commands of this machine.
    const script = [
      'chmod 711 "$1"; shift',
      'for place in /etc/cron.d /etc/tmpfiles.d /usr/lib/tmpfiles.d /usr/local/bin /etc/systemd/system; do',
      '  [ ! -d "$place" ] || mount -t tmpfs -o mode=755 none "$place" || exit 1',
      'done',
      '"$@" 2>/dev/null; "$@" 2>/dev/null',
    ].join('\n');
    const output = apart(script, [top, process.execPath, COMMAND, ...forNodes.split(' '), ...options]);
    const [first, second] = output.split(/(?<=\}) (?=\{ "schema")/).map((json) => JSON.parse(json) as Answer);
    assert.deepEqual(
      [first?.changed, first?.activated, first?.self_test],
      [true, true, { ok: true, problems: [] }],
      output,
    );
    assert.ok((first?.steps.length ?? 0) > 3);
    assert.deepEqual([second?.changed, second?.steps, second?.self_test.ok], [false, [], true], output);
  });

  it('is refused without --yes or --dry-run, since nobody would answer its question', async () => {
    const { options } = host();
    const terminal = fakeTerminal();
    assert.equal(await runProgram(['install', '--node', '--json', ...options], '0', terminal), 2);
    assert.match(terminal.warnings(), /give --yes or --dry-run/);
  });
});
