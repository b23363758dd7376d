import { nightly } from '../../src/cli/commands/nightly';
import { processTerminal } from '../../src/cli/terminal';
import { SETTINGS_FILE } from '../../src/record/settings';

/** `node run-night.js NOW`: runs `qmemacct nightly` as at that time: a test can't wait for the night after its jobs. */
const now = new Date(process.argv[2] ?? '');
void nightly({ config: SETTINGS_FILE, color: false, mail: true }, { ...processTerminal, now: () => now }).then(
  (status) => {
    process.exitCode = status;
  },
);
