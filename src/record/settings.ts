import { accessSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from '../base/error-code';
import { warn } from '../base/log';
import { nearestName } from '../base/nearest-name';
import { check, object } from '../base/shape';
import { parseToml, toToml } from '../base/toml';
import { untrusted, untrustedForRoot } from '../base/trusted-path';
import { UserError, reasonOf } from '../base/user-error';
import type { Setting } from './setting';
import { SETTINGS } from './settings-table';

export const SETTINGS_FILE = '/etc/qmemacct/qmemacct.toml';

/** What `qmemacct.toml` can set (settings-table.ts); times in seconds unless the name says otherwise. */
export type Settings = {
  readonly [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key] extends Setting<infer T> ? T : never;
};

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly (keyof Settings)[];

export const DEFAULT_SETTINGS = Object.fromEntries(
  SETTING_NAMES.map((key) => [key, SETTINGS[key].fallback]),
) as unknown as Settings;

/** A configuration that can't be used: which file, which key, what to write instead. */
export class SettingsError extends UserError {
  constructor(
    readonly path: string,
    problem: string,
    hint: string,
  ) {
    super(`${path}: ${problem}`, { hint, status: 2 });
  }
}

/** Settings as TOML: what `parseSettings` reads back. */
export function settingsToml(settings: Partial<Settings>): string {
  return toToml(settings);
}

/** A value as it is written after `key =`. */
export function valueToml(value: Settings[keyof Settings]): string {
  // JSON's strings, finite numbers and lists of strings are TOML as well.
  if (typeof value !== 'object' || Array.isArray(value))
    return value === Infinity ? 'inf' : JSON.stringify(value).replaceAll('","', '", "');
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)} = ${JSON.stringify(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function isName(key: string): key is keyof Settings {
  return Object.hasOwn(SETTINGS, key);
}

function checked(path: string, key: keyof Settings, value: unknown): unknown {
  const setting: Setting<unknown> = SETTINGS[key];
  const found = check(object({ [key]: setting.shape }), { [key]: value }, key);
  if (found.ok) return found.value[key];
  const hint = setting.hint ?? `the default is ${valueToml(SETTINGS[key].fallback)}`;
  throw new SettingsError(path, found.error.replace(/^\S+/, '"$&"'), hint);
}

/** Settings from the text of a `qmemacct.toml`. Throws SettingsError on bad syntax, unknown keys or bad values. */
export function parseSettings(text: string, path: string): Settings {
  let table: Record<string, unknown>;
  try {
    table = parseToml(text);
  } catch (error) {
    throw new SettingsError(path, `not valid TOML (${reasonOf(error)})`, 'fix that line');
  }
  const unknown = Object.keys(table).filter((key) => !isName(key));
  if (unknown.length > 0) {
    const near = unknown.flatMap((key) => nearestName(key, SETTING_NAMES) ?? []);
    const hint = near.length === 0 ? 'docs/settings.md lists the keys' : `did you mean ${near.join(', ')}?`;
    throw new SettingsError(path, `unknown key "${unknown.join('", "')}"`, hint);
  }
  const given = Object.entries(table).map(([key, value]) => [key, isName(key) ? checked(path, key, value) : undefined]);
  return { ...DEFAULT_SETTINGS, ...(Object.fromEntries(given) as Partial<Settings>) };
}

const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/** Throws SettingsError if a file is missing that was named explicitly; only the usual one may be missing. */
export function requireNamedSettings(path: string): void {
  if (path === SETTINGS_FILE) return;
  try {
    accessSync(path);
  } catch (error) {
    if (isMissing(error)) throw new SettingsError(path, 'there is no such file', 'give the path of a configuration');
  }
}

/** The cluster's name in records. */
export function clusterName({ cluster }: Pick<Settings, 'cluster'>): string {
  return cluster === '' ? 'default' : cluster;
}

/** Options of sources that name what is run or loaded. */
const PROGRAMS: ReadonlySet<string> = new Set(['command', 'library', 'smi']);

/** What `settings` tell root to run, to run as root, to believe or to send, and settings without that. */
function ordersIn(settings: Settings): { readonly orders: readonly string[]; readonly without: Settings } {
  const { sources, admin_user, deliver_as, mail_server, mail_credentials, state_dir, run_dir } = settings;
  const programs = Object.entries(sources).flatMap(([name, table]) =>
    Object.keys(table).flatMap((key) => (PROGRAMS.has(key) ? `the ${key} of [sources.${name}]` : [])),
  );
  const secrets = settings.export.flatMap(({ name, credentials }) =>
    credentials === '' ? [] : [`the credentials of [[export]] ${name}`],
  );
  const isForeign = (key: 'state_dir' | 'run_dir', path: string): boolean =>
    path !== DEFAULT_SETTINGS[key] && untrusted(path) !== null;
  const others = {
    admin_user: admin_user !== '',
    deliver_as: deliver_as === 'root',
    mail_server: mail_server.startsWith('/'),
    mail_credentials: mail_credentials !== '',
    state_dir: isForeign('state_dir', state_dir),
    run_dir: isForeign('run_dir', run_dir),
  };
  const names = (Object.keys(others) as (keyof typeof others)[]).filter((name) => others[name]);
  const allowed = Object.entries(sources).map(([name, table]) => [
    name,
    Object.fromEntries(Object.entries(table).filter(([key]) => !PROGRAMS.has(key))),
  ]);
  const defaults = Object.fromEntries(names.map((name) => [name, DEFAULT_SETTINGS[name]])) as Partial<Settings>;
  return {
    orders: [...programs, ...secrets, ...names],
    without: {
      ...settings,
      ...defaults,
      sources: Object.fromEntries(allowed) as Settings['sources'],
      export: settings.export.map((sink) => ({ ...sink, credentials: '' })),
    },
  };
}

/** For root, drops such orders if others could have written them, and says so in the system log. */
function withoutForeignOrders(path: string, settings: Settings): Settings {
  const reason = untrustedForRoot(resolve(path));
  if (reason === null) return settings;
  const { orders, without } = ordersIn(settings);
  if (orders.length === 0) return settings;
  warn(`${path}: ${reason}, so root leaves out ${orders.join(', ')}; take that permission away`);
  return without;
}

/**
 * Settings of a file; the defaults if `path` does not exist. For root, what is to be run, believed or sent is left out
 * if others can change the file. Throws SettingsError.
 */
export function loadSettings(path: string): Settings {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return DEFAULT_SETTINGS;
    throw new SettingsError(path, `can't be read (${reasonOf(error)})`, 'make it readable');
  }
  return withoutForeignOrders(path, parseSettings(text, path));
}

/** As `loadSettings`, but throws if the file is missing: jobs would be recorded under another cluster's name. */
export function loadHostSettings(path: string): Settings {
  const settings = loadSettings(path);
  if (settings === DEFAULT_SETTINGS)
    throw new SettingsError(path, 'is missing', 'put it back, or run "qmemacct install --node"');
  return settings;
}

/**
 * A slip in the configuration must not cost a site its records, or count a job twice under another cluster's name: if
 * the file can't be used, returns the defaults with what the installation knows (`installed`), and the problem.
 */
export function usableSettings(
  path: string,
  installed: Partial<Settings> = {},
): { readonly settings: Settings; readonly problem: string | null } {
  try {
    return { settings: loadHostSettings(path), problem: null };
  } catch (error) {
    return { settings: { ...DEFAULT_SETTINGS, ...installed }, problem: reasonOf(error) };
  }
}
