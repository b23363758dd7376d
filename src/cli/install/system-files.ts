import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../../base/replace-file';
import { commandPath, hookDirectory, type SystemPlaces } from './places';
import { step, type Step } from './steps';

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Writes a file whose content differs. */
export function fileSteps(path: string, text: string): Step[] {
  if (readIfThere(path) === text) return [];
  return [
    step(`write ${path}`, () => {
      mkdirSync(dirname(path), { recursive: true });
      replaceFile(path, text, 0o644);
    }),
  ];
}

const TIMER = 'qmemacct-flush.timer';
const UNITS = ['qmemacct-flush.service', TIMER] as const;
/** cron passes over names with a dot. */
const CRON = 'qmemacct-flush';
const TMPFILES = 'qmemacct.conf';

export interface SystemFiles {
  readonly places: SystemPlaces;
  readonly prefix: string;
  readonly settingsPath: string;
  readonly runDir: string;
  /** Where the templates are. */
  readonly hooks: string;
}

/** Text of a file in `hooks`, with this installation's places in it. */
export function fromTemplate(files: SystemFiles, name: string): string {
  return readFileSync(join(files.hooks, name), 'utf8')
    .replaceAll('@HOOKS@', hookDirectory(files.prefix))
    .replaceAll('@COMMAND@', commandPath(files.prefix))
    .replaceAll('@SETTINGS@', files.settingsPath);
}

/** Runs systemctl; resolves to why it did not work and what follows from that, or null. */
export function systemctl(words: readonly string[], otherwise: string): string | null {
  try {
    execFileSync('systemctl', [...words], { stdio: 'pipe', timeout: 60_000 });
    return null;
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return `systemctl ${words.join(' ')}: ${reason}; ${otherwise}`;
  }
}

/** Starts units anew, from now on and after each boot. */
export function startUnits(names: readonly string[], otherwise: string): string | null {
  return (
    systemctl(['daemon-reload'], otherwise) ??
    systemctl(['enable', ...names], otherwise) ??
    systemctl(['restart', ...names], otherwise)
  );
}

/** Ends units before their files go. */
export function stopUnits(...names: readonly string[]): string | null {
  return systemctl(['disable', '--now', ...names], 'end it by hand');
}

export function timerStep(timer: string, otherwise: string): Step {
  return {
    says: `systemctl enable --now ${timer}`,
    apply: () => systemctl(['daemon-reload'], otherwise) ?? systemctl(['enable', '--now', timer], otherwise),
  };
}

/** What a host without both leaves to its admin. */
export function unattended(what: string): Step {
  return {
    says: 'look for systemd or cron',
    apply: () => `neither systemd nor cron runs here; see to it that ${what}`,
  };
}

/** Those of an installation's units, else its cron table, that are there. */
export function filesOf({ units, cron }: SystemPlaces, names: readonly string[], table: string): readonly string[] {
  const paths = units !== null ? names.map((name) => join(units, name)) : cron !== null ? [join(cron, table)] : [];
  return paths.filter((path) => existsSync(path));
}

const WITHOUT_TIMER = 'records of nodes without jobs wait until "qmemacct flush" runs';

/** Runs `qmemacct flush` every ten minutes: by a systemd timer, else by cron. */
export function timerSteps(files: SystemFiles): Step[] {
  const { units, cron } = files.places;
  if (units !== null) {
    const written = UNITS.flatMap((name) => fileSteps(join(units, name), fromTemplate(files, name)));
    if (written.length === 0) return [];
    return [...written, timerStep(TIMER, WITHOUT_TIMER)];
  }
  if (cron !== null) return fileSteps(join(cron, CRON), fromTemplate(files, 'qmemacct-flush.cron'));
  return [unattended('"qmemacct flush" runs every ten minutes')];
}

/** /run is empty after a boot. */
export function tmpfilesSteps({ places, runDir }: SystemFiles): Step[] {
  if (places.tmpfiles === null || !/^(\/var)?\/run\//.test(runDir)) return [];
  const lines = [
    '# Written by "qmemacct install --node".',
    `d ${runDir} 0755 root root -`,
    `d ${runDir}/run 0700 root root -`,
    `d ${runDir}/live 0755 root root -`,
    '',
  ];
  return fileSteps(join(places.tmpfiles, TMPFILES), lines.join('\n'));
}

/** Makes or replaces a link in one step; another host that shares the directory may do the same. */
function replaceLink(path: string, target: string): void {
  const fresh = `${path}.${randomBytes(6).toString('hex')}`;
  symlinkSync(target, fresh);
  renameSync(fresh, path);
}

/** A link in everyone's PATH, where that name is free. */
export function linkSteps({ places, prefix }: SystemFiles): Step[] {
  if (places.commands === null) return [];
  const path = join(places.commands, 'qmemacct');
  const target = commandPath(prefix);
  const there = lstatSync(path, { throwIfNoEntry: false });
  const old = there?.isSymbolicLink() === true ? readlinkSync(path) : null;
  if (old === target) return [];
  // One of an installation under another prefix that has gone is free as well.
  const isFree = there === undefined || (old?.endsWith('/current/bin/qmemacct') === true && !existsSync(path));
  if (isFree) return [step(`link ${path} to ${target}`, () => replaceLink(path, target))];
  return [{ says: `leave ${path}`, apply: () => `${path}: is something else; the command is ${target}` }];
}

/** Every file outside of prefix, state and settings that an installation with these places may have written. */
export function systemFilesOf({ places, prefix }: Pick<SystemFiles, 'places' | 'prefix'>): readonly string[] {
  const files = [
    ...filesOf(places, UNITS, CRON),
    ...(places.tmpfiles === null ? [] : [join(places.tmpfiles, TMPFILES)].filter((path) => existsSync(path))),
  ];
  if (places.commands === null) return files;
  const link = join(places.commands, 'qmemacct');
  const there = lstatSync(link, { throwIfNoEntry: false });
  return there?.isSymbolicLink() && readlinkSync(link) === commandPath(prefix) ? [...files, link] : files;
}
