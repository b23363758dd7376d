import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { readClusterName } from '../../gridengine/cluster-name';
import { askDialect } from '../../gridengine/ask-dialect';
import { adminUserIn, type CellLocation } from '../../gridengine/find-cell';
import {
  complexesOfKind,
  readMemoryComplexes,
  requestOrderOf,
  reservedConsumables,
} from '../../gridengine/memory-consumables';
import { findQconf, type Qconf } from '../../gridengine/qconf';
import { QconfError } from '../../gridengine/site';
import { DEFAULT_SETTINGS, loadSettings, parseSettings, settingsToml, type Settings } from '../../record/settings';
import { CommandError, EXIT } from '../command';
import { settingsText } from './settings-text';

/** Settings on how the cell's jobs request memory that differ from the defaults; empty if qmaster does not answer. */
async function requestSettings(qconf: Qconf | null): Promise<Partial<Settings>> {
  try {
    const complexes = qconf === null ? [] : await readMemoryComplexes(qconf);
    const { job_complexes: usual } = DEFAULT_SETTINGS;
    const perJob = [...new Set([...usual, ...complexesOfKind('JOB', complexes)])];
    const perHost = complexesOfKind('HOST', complexes);
    return {
      ...(reservedConsumables(complexes).length > 0 ? { request_complex: requestOrderOf(complexes) } : {}),
      ...(perJob.length > usual.length ? { job_complexes: perJob } : {}),
      ...(perHost.length > 0 ? { host_complexes: perHost } : {}),
    };
  } catch (error) {
    if (error instanceof QconfError) return {};
    throw error;
  }
}

/** Settings that follow from the cell and its qconf; empty if there is no cell. Throws UntrustedError (findClient). */
export async function settingsOfCell(
  cell: CellLocation | null,
  env: Readonly<Record<string, string | undefined>>,
  settings: Pick<Settings, 'command_timeout'>,
): Promise<Partial<Settings>> {
  if (cell === null) return {};
  const bootstrap = readFileSync(join(cell.root, cell.cell, 'common', 'bootstrap'), 'utf8');
  const adminUser = adminUserIn(bootstrap);
  const qconf = findQconf(env, cell, settings);
  const dialect = (await askDialect(qconf))?.dialect ?? 'unknown';
  return {
    cluster: readClusterName(cell.root, cell.cell),
    cell: join(cell.root, cell.cell),
    ...(dialect === 'unknown' ? {} : { grid_engine: dialect }),
    ...(await requestSettings(qconf)),
    // If root itself is the admin user, the user "nobody" is the better deliverer.
    ...(adminUser === null || adminUser === 'root' ? {} : { admin_user: adminUser, deliver_as: adminUser }),
  };
}

export interface NodeSettings {
  readonly settings: Settings;
  /** Text to write; null: the admin's file stays as it is. */
  readonly text: string | null;
  /** How an existing file differs from the options or the cell; one line each. */
  readonly differences: readonly string[];
}

/** Throws CommandError for a dangling link: a file written in its place would stay when the link's target is back. */
function requireNoLostLink(path: string): void {
  if (existsSync(path) || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new CommandError(
    `${path}: leads to ${readlinkSync(path)}, which is not there; put a configuration there, mount its file system, or remove the link`,
    EXIT.unavailable,
  );
}

/** Lists whose order means nothing. */
const UNORDERED: ReadonlySet<keyof Settings> = new Set(['job_complexes', 'host_complexes'] as const);

function comparable(key: keyof Settings, value: unknown): string {
  return JSON.stringify(UNORDERED.has(key) && Array.isArray(value) ? [...(value as unknown[])].sort() : value);
}

/**
 * Settings of a node: the file's if there is one, else those of the options, the cell, and the defaults. Throws
 * SettingsError if options or cell give an invalid value, CommandError if the file is a dangling link.
 */
export function chooseNodeSettings(path: string, given: Partial<Settings>, cell: Partial<Settings>): NodeSettings {
  const chosen = { ...cell, ...given };
  parseSettings(settingsToml(chosen), 'install --node');
  requireNoLostLink(path);
  if (!existsSync(path))
    return { settings: { ...DEFAULT_SETTINGS, ...chosen }, text: settingsText(chosen), differences: [] };
  const settings = loadSettings(path);
  const keys = Object.keys(chosen) as (keyof Settings)[];
  const differences = keys
    .filter((key) => comparable(key, settings[key]) !== comparable(key, chosen[key]))
    .map(
      (key) =>
        `${path}: keeps ${key} = ${JSON.stringify(settings[key])}, not ${JSON.stringify(chosen[key])} (${key in given ? 'option' : "the cell's"}); change the file if you want that`,
    );
  return { settings, text: null, differences };
}
