import { ledgerDirectory, openLedger } from '../../../src/cli/nightly/ledger';
import { runNightly } from '../../../src/cli/nightly/run-nightly';
import { fakeNight } from './fake-night';

/** `node run-one-night.js DIRECTORY PORT`: a night in a process of its own, which can be killed. */
const [, , directory = '', port = ''] = process.argv;
const night = fakeNight(directory, {
  mail_server: `smtp://127.0.0.1:${port}`,
  mail_admins: ['ops@example.org'],
  mail_owners: 'all',
});
const ledger = openLedger(ledgerDirectory(night.settings), 'child', () => undefined);
void runNightly(night.parts, ledger, { mail: true });
