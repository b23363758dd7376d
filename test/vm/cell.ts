import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import * as path from 'node:path';
import { test, type TestContext } from 'node:test';
import { burnersObstacle } from '../burners/build';
import { repositoryRoot } from './repository';
import { runInVm, vmObstacle, type VmOptions, type VmResult } from './vm';

export interface CellOptions extends Partial<Omit<VmOptions, 'script'>> {
  /** Value of the cell's prolog as in sge_conf(5), for example "root@/path $job_id". Default: none. */
  readonly prolog?: string;
  /** Value of the cell's epilog as in sge_conf(5). Default: none. */
  readonly epilog?: string;
  /** Value of the cell's execd_params as in sge_conf(5). Default: none. */
  readonly execdParams?: string;
}

const cellFailed = 70;
const TEST_MS = 600_000;

/** The value of an installed hook, as `qmemacct install` configures it. */
export const ourHook = (name: 'prolog' | 'epilog'): string =>
  `root@/usr/bin/env -i /bin/sh -p /opt/qmemacct/current/hooks/${name}.sh $job_id $ja_task_id`;

/** Why no Grid Engine cell can run in the test machine; null: one can. */
export function cellObstacle(): string | null {
  for (const [program, packageName] of [
    ['sge_qmaster', 'gridengine-master'],
    ['sge_execd', 'gridengine-exec'],
    ['qsub', 'gridengine-client'],
  ] as const) {
    if (!existsSync(path.join('/usr/lib/gridengine', program))) {
      return `no /usr/lib/gridengine/${program}: install the Debian package ${packageName}`;
    }
  }
  return vmObstacle();
}

/**
 * Boots the test machine, sets up a one-host Grid Engine cell in it (about 15 s) and runs a shell script as root,
 * with the functions of one-host-cell.sh. Rejects as runInVm does, and when the cell cannot be set up.
 */
export async function runCellScript(body: string, options: CellOptions = {}): Promise<VmResult> {
  const functions = readFileSync(path.join(repositoryRoot(), 'test', 'vm', 'one-host-cell.sh'), 'utf8');
  const script = [
    `CELL_PROLOG=${shellQuoted(options.prolog ?? 'none')}`,
    `CELL_EPILOG=${shellQuoted(options.epilog ?? 'none')}`,
    `CELL_EXECD_PARAMS=${shellQuoted(options.execdParams ?? 'none')}`,
    functions,
    `cell_start || exit ${cellFailed}`,
    body,
    '',
  ].join('\n');
  const result = await runInVm({ timeoutMs: 300_000, ...options, script });
  if (result.status === cellFailed) {
    throw new Error(`the Grid Engine cell in the test machine did not come up:\n${result.output}`);
  }
  return result;
}

/** The text, quoted as one word of a shell script. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Values by name in the lines "fact NAME VALUE" of a script's output. */
export function facts(output: string): ReadonlyMap<string, string> {
  const lines = output.matchAll(/^fact (\S+) ?(.*)$/gm);
  return new Map(Array.from(lines, ([, name = '', value = '']) => [name, value]));
}

/** The output of a script in a cell, and its facts. */
interface ScriptFacts {
  readonly output: string;
  readonly facts: ReadonlyMap<string, string>;
  /** The value of a fact. Fails the test if the script did not print it. */
  readonly fact: (name: string) => string;
}

/** Makes a test that runs a script, which may use burners, in a cell, and checks its facts by `body`. */
export function cellTest(
  name: string,
  script: () => string,
  options: CellOptions,
  body: (told: ScriptFacts, t: TestContext) => void,
): void {
  void test(name, { timeout: TEST_MS + 60_000 }, async (t) => {
    const obstacle = cellObstacle() ?? burnersObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }
    const { output, ms, status } = await runCellScript(script(), { timeoutMs: TEST_MS, ...options });
    t.diagnostic(`ended after ${ms} ms`);
    assert.equal(status, 0, output);
    const found = facts(output);
    const fact = (sought: string): string => found.get(sought) ?? assert.fail(`no fact ${sought}\n${output}`);
    body({ output, facts: found, fact }, t);
  });
}
