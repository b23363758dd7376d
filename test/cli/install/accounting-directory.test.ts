import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkAccounting } from '../../../src/cli/doctor/check-accounting';
import { accountingDirectorySteps } from '../../../src/cli/install/accounting-directory';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { deliverRecords } from '../../../src/sampler/delivery/outbox-feeder';
import { ordinary } from '../../report/sample-records';
import { NOBODY, notRoot } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';

interface Place {
  readonly directory: string;
  readonly settings: Settings;
}

function openToAll(uid: number): Place {
  const top = temporaryDirectory(0o755);
  const directory = join(top, 'accounting');
  mkdirSync(directory);
  chownSync(directory, uid, uid);
  chmodSync(directory, 0o1777);
  return { directory, settings: { ...DEFAULT_SETTINGS, accounting: join(directory, 'a.db'), deliver_as: 'nobody' } };
}

const deliver = (settings: Settings): Promise<string | null> =>
  deliverRecords([JSON.stringify(ordinary)], () => settings);

describe('the directory of the accounting DB', { skip: notRoot }, () => {
  for (const [which, uid] of [
    ['where it is empty and owned by root,', 0],
    ['where the deliverer owns it,', NOBODY],
  ] as const)
    it(`${which} is closed to other users, and then accepted by the deliverer`, async () => {
      const { directory, settings } = openToAll(uid);
      assert.match((await deliver(settings)) ?? '', /everyone may write to .*accounting/);
      const steps = accountingDirectorySteps(settings);
      assert.deepEqual(
        steps.map(({ apply }) => apply()),
        [null],
      );
      const { mode, uid: owner } = statSync(directory);
      assert.equal(owner, NOBODY);
      assert.equal(mode & 0o002, 0);
      assert.deepEqual(accountingDirectorySteps(settings), []);
      assert.equal(await deliver(settings), null);
    });

  it('that the deliverer refuses is a finding of doctor with the same reason and remedy', async () => {
    const { settings } = openToAll(NOBODY);
    const refusal = (await deliver(settings)) ?? '';
    const state = { settings, settingsPath: '/none', isRoot: true, conf: null };
    const asked = state as unknown as Parameters<typeof checkAccounting>[0];
    const findings = [...checkAccounting(asked, { runsJobs: true }, new Date(), {})];
    const found = findings.find(({ severity }) => severity === 'problem');
    const reason = /everyone may write to [^ ;)]*/.exec(found?.says ?? '')?.[0];
    for (const part of [reason, found?.fix])
      assert.ok(part && refusal.includes(part), `${refusal} | ${JSON.stringify(findings)}`);
  });
});
