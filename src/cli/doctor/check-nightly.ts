import { accessSync, constants } from 'node:fs';
import { hostname } from 'node:os';
import { codeOf } from '../../base/error-code';
import { reasonOf, UserError } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import { directoryFault } from '../install/directories';
import type { SystemPlaces } from '../install/places';
import { isSetUp, NIGHTLY } from '../install/services';
import { createMailer, type Mailer } from '../mail/mailer';
import { MailError } from '../mail/message';
import type { SmtpPatience } from '../mail/send-smtp';
import { ledgerDirectory, readLedger } from '../nightly/ledger';
import { MOST_CAUGHT_UP, nightsBack } from '../nightly/night';
import { nightlyConfig, nightlySettings } from '../nightly/nightly-config';
import { wantsMail } from '../nightly/send-night';
import { delivererName } from '../stores/maintenance';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, note, warning, problem } = findingsIn('nightly');

/** Whether this user may not read the directory; on a network file system that may hold for root, too. */
function isClosed(directory: string): boolean {
  try {
    accessSync(directory, constants.R_OK | constants.X_OK);
    return false;
  } catch (error) {
    return codeOf(error) === 'EACCES';
  }
}

function checkLedger(settings: Settings, prefix: string, now: Date): Finding[] {
  const directory = ledgerDirectory(settings);
  if (isClosed(directory))
    return [
      note(
        'nights',
        `which are done is not known: ${directory} is closed to this user`,
        `look as ${delivererName(settings)}`,
      ),
    ];
  const ledger = readLedger(directory);
  const nights = nightsBack(now);
  const newest = nights.findIndex(({ day }) => ledger.night(day)?.state === 'done');
  if (newest < 0)
    return [
      warning(
        'nights',
        `none is done in ${directory}`,
        `run ${prefix}/current/hooks/nightly.sh by hand and read what it says`,
      ),
    ];
  // Last night is left out: until the timer fires, it is not done yet.
  const late = newest - 1;
  const says = `the newest that is done is ${nights[newest]?.day ?? ''}`;
  if (late <= 0) return [ok('nights', says)];
  const lost = late >= MOST_CAUGHT_UP ? '; those older than a week get no report any more' : '';
  return [
    warning(
      'nights',
      says + lost,
      `look for "qmemacct" in the system log, or run ${prefix}/current/hooks/nightly.sh by hand`,
    ),
  ];
}

const PATIENCE: SmtpPatience = { connect: 10_000, answer: 10_000 };

async function checkMailer(settings: Settings, isRoot: boolean): Promise<Finding[]> {
  let mailer: Mailer;
  try {
    mailer = createMailer(settings, hostname(), PATIENCE);
  } catch (error) {
    // Only root or the nightly job's user can read the password file.
    return isRoot ? [problem('mail', reasonOf(error), 'until then reports are written, and nobody gets them')] : [];
  }
  try {
    await mailer.test();
    return [ok('mail', `by ${mailer.by}, from ${mailer.from.address}`)];
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    return [warning('mail', error.message, 'until then mails wait for the next run')];
  }
}

async function checkMail(settings: Settings, isRoot: boolean): Promise<Finding[]> {
  if (!wantsMail(settings)) return [];
  const findings = await checkMailer(settings, isRoot);
  if (settings.mail_owners === 'nobody') return findings;
  const fault = directoryFault({ path: settings.digest_dir, mode: 0o1777, uid: 0, gid: 0 });
  if (fault !== null)
    findings.push(
      warning(
        'digests',
        `${settings.digest_dir} ${fault}: users can't say whether they want one`,
        `install -d -m 1777 -o root -g root ${settings.digest_dir}`,
      ),
    );
  return findings;
}

type Asking = Pick<NodeState, 'settings' | 'settingsPath' | 'prefix' | 'isRoot'>;

/** Checks the nightly job, on the host that has it: whether nights get done, and mails can be sent. */
export async function checkNightly(
  { settings, settingsPath, prefix, isRoot }: Asking,
  places: SystemPlaces,
  now: Date,
): Promise<Finding[]> {
  if (!isSetUp(NIGHTLY, places)) return [];
  let own: Settings;
  try {
    own = nightlySettings(settingsPath, settings);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const says = error.message;
    return [
      isRoot ? problem('configuration', says, `fix ${nightlyConfig(settingsPath)}`) : note('configuration', says),
    ];
  }
  return [...checkLedger(own, prefix, now), ...(await checkMail(own, isRoot))];
}
