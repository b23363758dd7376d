import { openHistory, openReader } from '../../accounting/open-store';
import type { AccountingReader } from '../../accounting/store';
import type { Settings } from '../../record/settings';
import type { MailReport } from '../../report/efficiency/mail-report';
import { importSiteAccounting } from '../import/import-site';
import type { Night } from './night';

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

/** The steps of the nightly job; tests replace them. */
export const nightSteps = {
  openStore: openHistory,
  openReader: ({ accounting, accounting_credentials: credentials }: Settings): Promise<AccountingReader> =>
    openReader(accounting, { credentials }),
  importAccounting: importSiteAccounting,
  report: reportOf,
};
export type NightSteps = Readonly<typeof nightSteps>;
