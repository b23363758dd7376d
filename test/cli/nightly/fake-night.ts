import { join } from 'node:path';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { createMailer } from '../../../src/cli/mail/mailer';
import type { Night } from '../../../src/cli/nightly/night';
import type { MailReport } from '../../../src/report/efficiency/mail-report';
import type { NightlyParts } from '../../../src/cli/nightly/run-nightly';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';

const never = (): Promise<never> => Promise.reject(new Error('not expected in this test'));

/** A store that notes in `done` what it is asked to do. */
export function fakeHistory(done: string[], changes: Partial<HistoryStore> = {}): HistoryStore {
  const note = <T>(what: string, answer: T): Promise<T> => {
    done.push(what);
    return Promise.resolve(answer);
  };
  return {
    job: never,
    jobs: never,
    records: never,
    pages: () => {
      throw new Error('not expected in this test');
    },
    summary: never,
    running: never,
    nodes: never,
    merge: never,
    saveHeartbeat: never,
    importedFiles: never,
    importLines: never,
    unreadableLines: never,
    settle: never,
    rollUp: () => note('roll-up', 3),
    countOld: never,
    prune: ({ records, series, rollups }) =>
      note(`prune ${records} ${series} ${rollups}`, { records: 1, series: 2, rollups: 0, freed: 0, complete: true }),
    close: () => note('close', undefined),
    ...changes,
  };
}

export function fakeReport(night: Night, owner: string | null, owners: readonly string[]): MailReport {
  const of = `${owner ?? 'the site'} on ${night.day}`;
  return {
    text: `Report of ${of}\n`,
    html: `<!doctype html><html><head><title>x</title></head><body class="a"><p>Report of ${of}</p></body></html>`,
    json: `{"of":"${of}"}\n`,
    headline: '12 jobs',
    owners: owner === null ? owners : [owner],
  };
}

export interface FakeNight {
  readonly parts: NightlyParts;
  readonly settings: Settings;
  /** In order: the steps taken, the lines printed, the problems logged. */
  readonly done: string[];
  readonly printed: string[];
  readonly logged: string[];
}

/** A night of three owners in a directory of the test's own. */
export function fakeNight(
  directory: string,
  changes: Partial<Settings> = {},
  parts: Partial<NightlyParts> = {},
): FakeNight {
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    accounting: join(directory, 'accounting.db'),
    report_dir: join(directory, 'reports'),
    digest_dir: join(directory, 'digest'),
    deliver_as: 'root',
    mail_domain: 'example.org',
    ...changes,
  };
  const done: string[] = [];
  const printed: string[] = [];
  const logged: string[] = [];
  return {
    settings,
    done,
    printed,
    logged,
    parts: {
      settings,
      cluster: 'testcluster',
      host: 'login1',
      now: new Date(2026, 10, 21, 3, 0),
      openStore: () => Promise.resolve(fakeHistory(done)),
      importAccounting: () => {
        done.push('import');
        return Promise.resolve('5 lines');
      },
      report: (_store, night, owner) => {
        done.push(`report ${night.day} ${owner ?? '*'}`);
        return Promise.resolve(fakeReport(night, owner, ['alice', 'bob', 'carol']));
      },
      mailer: () => createMailer(settings, 'login1', { connect: 60_000, answer: 60_000 }),
      choices: () => Promise.resolve(new Map()),
      signal: new AbortController().signal,
      print: (line) => void printed.push(line),
      log: (line) => void logged.push(line),
      progress: () => undefined,
      ...parts,
    },
  };
}
