import { hostname } from 'node:os';
import { reasonOf } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import { directoryFault } from '../install/directories';
import type { SystemPlaces } from '../install/places';
import { isSetUp, NIGHTLY } from '../install/services';
import { createMailer } from '../mail/mailer';
import { ledgerDirectory, readLedger } from '../nightly/ledger';
import { lastNight, LOOK_BACK_DAYS, MOST_CAUGHT_UP, type Night } from '../nightly/night';
import { wantsMail } from '../nightly/send-night';
import { findingsIn, type Finding } from './finding';

const { ok, warning, problem } = findingsIn('nightly');

function nightsBack(now: Date): readonly Night[] {
  const nights: Night[] = [];
  for (let at = now; nights.length < LOOK_BACK_DAYS; at = nights.at(-1)?.since ?? at) nights.push(lastNight(at));
  return nights;
}

/** The newest night that is done; null: none of the last 60. */
function newestDone(directory: string, now: Date): string | null {
  const ledger = readLedger(directory);
  return nightsBack(now).find(({ day }) => ledger.night(day)?.state === 'done')?.day ?? null;
}

function checkLedger(settings: Settings, now: Date): Finding[] {
  const directory = ledgerDirectory(settings);
  const done = newestDone(directory, now);
  if (done === null)
    return [warning('nights', `none is done in ${directory}`, 'run hooks/nightly.sh by hand and read what it says')];
  // Before the timer has come, last night is still to be done.
  const [, ...older] = nightsBack(now).map(({ day }) => day);
  const late = older.indexOf(done);
  const says = `the newest that is done is ${done}`;
  if (late <= 0) return [ok('nights', says)];
  const lost = late >= MOST_CAUGHT_UP ? '; those older than a week get no report any more' : '';
  return [warning('nights', says + lost, 'look for "qmemacct" in the log, or run hooks/nightly.sh by hand')];
}

function checkMail(settings: Settings, isRoot: boolean): Finding[] {
  if (!wantsMail(settings)) return [];
  const findings: Finding[] = [];
  try {
    const mailer = createMailer(settings, hostname());
    findings.push(ok('mail', `by ${mailer.by}, from ${mailer.from.address}`));
  } catch (error) {
    // The password is root's, or the nightly job's.
    if (isRoot) findings.push(problem('mail', reasonOf(error), 'until then reports are written, and nobody gets them'));
  }
  if (settings.mail_owners === 'nobody') return findings;
  const fault = directoryFault({ path: settings.digest_dir, mode: 0o1777, uid: 0, gid: 0 });
  if (fault !== null)
    findings.push(
      warning(
        'digests',
        `${settings.digest_dir} ${fault === 'missing' ? 'is missing' : fault}: users can't say whether they want one`,
        `install -d -m 1777 -o root -g root ${settings.digest_dir}`,
      ),
    );
  return findings;
}

/** The nightly job, on a host that has one: whether nights get done, and mails can go. */
export function checkNightly(settings: Settings, isRoot: boolean, places: SystemPlaces, now: Date): Finding[] {
  if (!isSetUp(NIGHTLY, places)) return [];
  return [...checkLedger(settings, now), ...checkMail(settings, isRoot)];
}
