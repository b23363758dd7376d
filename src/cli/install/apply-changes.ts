import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  configurationValue,
  readConfiguration,
  serialise,
  withValue,
  type Configuration,
} from '../../gridengine/configuration';
import type { Qconf } from '../../gridengine/qconf';
import { QconfError, showQconf } from '../../gridengine/site';
import { CommandError, EXIT } from '../command';
import { sameValue, targetName, type Change, type Target } from './hook-plan';

const NO_LOCAL = /not defined/;

/** Text of a target's configuration as qconf prints it; "" for a host that has none of its own. */
async function currentText(qconf: Qconf, target: Target): Promise<string> {
  if (target.kind === 'global') return showQconf(qconf, ['-sconf']);
  if (target.kind === 'host') return showQconf(qconf, ['-sconf', target.name], NO_LOCAL);
  return showQconf(qconf, ['-sq', target.name]);
}

function fail(target: Target, reason: string): never {
  throw new CommandError(`${targetName(target)}: ${reason}`, EXIT.unavailable);
}

function changed(target: Target, before: Configuration, changes: readonly Change[]): Configuration {
  return changes.reduce((configuration, change) => {
    if (!sameValue(target, configurationValue(before, change.stage), change.old))
      fail(target, `its ${change.stage} was changed by someone else meanwhile; run this again`);
    const result = withValue(configuration, change.stage, change.new);
    return result.ok ? result.value : fail(target, result.error);
  }, before);
}

/** qconf takes a configuration only from a file, and the object's name from the file's name. */
async function writeTarget(qconf: Qconf, target: Target, existed: boolean, text: string): Promise<void> {
  const name = target.kind === 'global' ? 'global' : target.name;
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-'));
  try {
    const file = join(directory, name);
    writeFileSync(file, text, { mode: 0o600 });
    const empty = readConfiguration(text).lines.every((line) => line.setting === null);
    const args =
      target.kind === 'queue'
        ? ['-Mq', file]
        : target.kind === 'host' && empty
          ? ['-dconf', name]
          : [existed ? '-Mconf' : '-Aconf', file];
    const { status, stdout, stderr } = await qconf(args);
    if (status !== 0) throw new QconfError(args, stderr || stdout);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Makes the changes of one target and checks that they are there: qconf exits with 0 even for some failures. */
export async function applyChanges(qconf: Qconf, target: Target, changes: readonly Change[]): Promise<void> {
  const before = await currentText(qconf, target);
  const after = changed(target, readConfiguration(before), changes);
  await writeTarget(qconf, target, before !== '', serialise(after));
  const now = readConfiguration(await currentText(qconf, target));
  for (const { stage, new: wanted } of changes)
    if (!sameValue(target, configurationValue(now, stage), wanted))
      fail(
        target,
        `qconf took the new ${stage}, but shows "${configurationValue(now, stage) ?? 'nothing'}"; look at it with qconf`,
      );
}
