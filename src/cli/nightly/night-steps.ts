import type { HistoryStore, LongWork } from '../../accounting/history-store';
import { openHistory } from '../../accounting/open-store';
import type { AccountingReader } from '../../accounting/store';
import type { Settings } from '../../record/settings';
import type { MailReport } from '../../report/efficiency/mail-report';
import { importSiteAccounting } from '../import/import-site';
import type { Terminal } from '../terminal';
import type { Night } from './night';

/** The steps of the nightly job; tests replace them. */
export interface NightSteps {
  readonly openStore: (settings: Settings) => Promise<HistoryStore>;
  readonly openReader: (settings: Settings) => Promise<AccountingReader>;
  readonly importAccounting: (
    store: HistoryStore,
    settings: Settings,
    env: Terminal['env'],
    work: LongWork,
  ) => Promise<string>;
  readonly report: (
    store: AccountingReader,
    night: Night,
    owner: string | null,
    now: Date,
    settings: Pick<Settings, 'grid_engine' | 'rules_file'>,
  ) => Promise<MailReport>;
}

/** The report of a night, summed up by owner; for one owner, by job name. */
async function reportOf(
  store: AccountingReader,
  { since, until }: Night,
  owner: string | null,
  now: Date,
  settings: Pick<Settings, 'grid_engine' | 'rules_file'>,
): Promise<MailReport> {
  const [{ makeReport }, { toMailReport }, { loadRules }] = await Promise.all([
    import('../../report/efficiency/build.js'),
    import('../../report/efficiency/mail-report.js'),
    import('../../report/rules/rule-set.js'),
  ]);
  const by = owner === null ? 'owner' : 'job_name';
  const dialect = settings.grid_engine;
  const rules = await loadRules(settings.rules_file);
  return toMailReport(await makeReport(store, { since, until, by, owner, cluster: null, now, dialect, rules }));
}

export const nightSteps: NightSteps = {
  openStore: openHistory,
  openReader: async ({ accounting, accounting_credentials: credentials }) => {
    const { openReader } = await import('../../accounting/open-store.js');
    return openReader(accounting, { credentials });
  },
  importAccounting: importSiteAccounting,
  report: reportOf,
};
