import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ROOT_ALONE } from '../../src/base/trusted-path';
import { daemons } from '../../src/gridengine/daemons';
import { gridEngineOwners } from '../../src/gridengine/owners';
import { until } from '../support/until';
import type { CommandResult } from './cell';
import { assertNoQueueErrors, awaitFigures, withSite, gateFor, type Site } from './site';

const limits = { timeout: 2_000_000 };

/** Programs that the hooks call or might call: each planted one writes down who ran it. */
const PLANTED =
  'node env sh setsid mkdir mkfifo readlink cat head timeout kill sleep stat id setpriv logger mv rm date printf sed'.split(
    ' ',
  );

/** Plants programs and start-up files in a user's home; each of them appends the uid under which it runs to `witness`. */
function plant(home: string, witness: string): string {
  const directory = join(home, 'evil');
  mkdirSync(directory, { recursive: true });
  chmodSync(directory, 0o755);
  for (const name of PLANTED) {
    const path = join(directory, name);
    writeFileSync(path, `#!/bin/bash -p\n/usr/bin/id -u >>${witness}\n`);
    chmodSync(path, 0o755);
  }
  writeFileSync(join(directory, 'x.js'), `require('fs').appendFileSync('${witness}', process.getuid() + '\\n');`);
  writeFileSync(join(directory, 'rc'), `/usr/bin/id -u >>${witness}\n`);
  return directory;
}

async function nothingRunsAsRoot({ cell, product }: Site): Promise<void> {
  const home = cell.layout.home('gealice');
  const witness = join(cell.stateDir, 'witness');
  writeFileSync(witness, '');
  chmodSync(witness, 0o666);
  const evil = plant(home, witness);
  const variables = [
    `PATH=${evil}:/usr/bin:/bin`,
    `NODE_OPTIONS=--require=${evil}/x.js`,
    `NODE_PATH=${evil}`,
    `NODE_REPL_EXTERNAL_MODULE=${evil}/x.js`,
    `BASH_ENV=${evil}/rc`,
    `ENV=${evil}/rc`,
    `HOME=${evil}`,
    `LD_PRELOAD=${evil}/x.so`,
    `QMEMACCT_STATE=${evil}`,
    `QMEMACCT_CONFIG=${evil}/rc`,
    `QMEMACCT_LOG=stderr`,
    `SGE_JOB_SPOOL_DIR=${evil}`,
    'IFS=/',
    'SHELLOPTS=xtrace',
    `PS4=$(/usr/bin/id -u >>${witness})`,
  ].join(',');
  // -v can't pass shell functions: -V takes them from qsub's environment.
  const functions = Object.fromEntries(
    ['printf', 'read', 'cd', 'trap', 'exec', 'kill', 'wait', 'umask', 'ulimit', 'echo'].map((name) => [
      `BASH_FUNC_${name}%%`,
      `() { /usr/bin/id -u >>${witness}; builtin ${name} "$@"; }`,
    ]),
  );
  const script = '/bin/sleep 0.7';
  for (const vmem of ['1G', '300M', '50M']) {
    const job = await cell.submit(
      'gealice',
      ['-V', '-v', variables, '-l', `h_vmem=${vmem}`, '-S', '/bin/bash'],
      script,
      {
        env: functions,
      },
    );
    const [line] = await cell.waitFinished(job);
    await product.run(line?.hostname ?? '', 'flush');
    assert.equal((await product.record(job)).owner, 'gealice');
  }
  const uids = new Set(readFileSync(witness, 'utf8').split('\n').filter(Boolean));
  assert.ok(!uids.has('0'), 'something of the owner ran as root');
}

async function nothingRunsAsRootUnderBash(site: Site): Promise<void> {
  const { cell } = site;
  // /bin/sh is a link; bash is mounted over its target, on the execution hosts only.
  for (const host of cell.execHosts) await cell.check(host, 'mount --bind /bin/bash "$(readlink -f /bin/sh)"');
  try {
    assert.match(await cell.check('ge1', 'sh -c "echo \\$BASH_VERSION"'), /\d/);
    await nothingRunsAsRoot(site);
  } finally {
    for (const host of cell.execHosts) await cell.check(host, 'umount "$(readlink -f /bin/sh)"');
  }
}

async function strangeNames(t: TestContext, { cell, product }: Site): Promise<void> {
  const names = [
    '<&">x',
    'two words',
    'two\u00a0words',
    'grün-日本',
    'esc\u001b[31mred',
    '=cmd()',
    "it's",
    '$(id)',
    '`id`;id',
  ];
  for (const name of names) {
    const job = await cell.submit('gealice', ['-N', name], 'sleep 0.3').catch((error: unknown) => {
      t.diagnostic(`qsub refuses the name ${JSON.stringify(name)}: ${String(error).split('\n')[1] ?? ''}`);
      return null;
    });
    if (job === null) continue;
    const [line] = await cell.waitFinished(job);
    const record = await product.record(job);
    assert.equal(record.job_name, name);
    assert.equal(line?.job_name, name);
    const shown = await product.run('ge0', 'job', job, '--accounting', product.accounting);
    assert.ok(!shown.stdout.includes('\u001b'), 'an escape code reached the terminal');
    const csv = await product.run('ge0', 'job', job, '--csv', '--accounting', product.accounting);
    assert.ok(!/(^|,)=cmd/m.test(csv.stdout), 'a formula reached the CSV');
  }
}

async function forgedConfig({ cell, product }: Site): Promise<void> {
  // The shepherd itself takes the last of two equal keys: a forged job_owner or add_grp_id would end it, with or
  // without our hooks. It accepts these keys silently.
  const forged = 'x\nh_vmem=INFINITY\nh_vmem_is_consumable_job=1\njob_name=forged\nacct_project=stolen\nqueue=forged.q';
  const job = await cell.submit('gebob', ['-N', 'forger', '-l', 'h_vmem=1G'], 'sleep 1', {});
  await cell.waitFinished(job);
  const home = cell.layout.home('gebob');
  await cell.check('ge0', `printf 'sleep 1\\n' >${home}/forge.sh`, { user: 'gebob' });
  const honest = await product.record(job);
  assert.deepEqual(honest.notes, []);
  const held = await cell.submit('gebob', ['-h', '-l', 'h_vmem=1G', 'forge.sh']);
  // The lines of `config` from here to its arguments, of which there are then none.
  const rest = `a@b\nmail_options=0\nqueue=forged.q\nhost=ge9\njob_name=forged\njob_id=${held}\nja_task_id=0\naccount=sge
submission_time=1763600000\nacct_project=stolen\nnjob_args=0`;
  await cell.check('ge0', ['qalter', '-M', rest, held], { user: 'gebob' });
  await cell.check('ge0', ['qrls', held], { user: 'gebob' });
  for (const number of [
    held,
    await cell.submit('gebob', ['-l', 'h_vmem=1G', 'forge.sh', forged]),
    await cell.submit('gebob', [
      '-l',
      'h_vmem=1G',
      '-o',
      `/dev/null\njob_name=forged\nacct_project=stolen`,
      'forge.sh',
    ]),
  ]) {
    await cell.waitFinished(number);
    const record = await product.record(number);
    assert.equal(record.owner, 'gebob');
    assert.equal(record.job_id, Number(number));
    assert.notEqual(record.job_name, 'forged');
    assert.notEqual(record.host, 'ge9');
    assert.equal(record.project, null);
    assert.equal(record.h_vmem?.request_bytes ?? null, null, 'a forged request was believed');
    assert.match(record.notes.join(' '), /forged/);
  }
}

async function plantedFiles({ cell, product }: Site): Promise<void> {
  const host = 'ge1';
  const outbox = '/var/lib/qmemacct/outbox';
  const script = [
    `ln -s /etc/shadow ${outbox}/link`,
    `mkfifo ${outbox}/fifo`,
    `ln ~/mine ${outbox}/hard 2>/dev/null`,
    `head -c 200000 /dev/zero >${outbox}/large`,
    `printf '{"owner":"gebob"}' >${outbox}/record`,
    `printf 'garbage' >${outbox}/garbage`,
    `mkdir ${outbox}/directory`,
    'true',
  ].join('; ');
  await cell.check(host, script, { user: 'gealice' });
  const job = await cell.submit('gealice', ['-q', `all.q@${host}`], 'sleep 0.5');
  await cell.waitFinished(job);
  const flushed = await product.run(host, 'flush');
  assert.equal(flushed.status, 0, flushed.stderr);
  await product.record(job);
  const left = (await cell.check(host, `ls ${outbox}`)).trim();
  assert.equal(left, '');
  assert.ok(existsSync('/etc/shadow'));
}

async function forgedRecords({ cell, product }: Site): Promise<void> {
  // A record with another user as the owner, and one with herself as the owner of another user's job.
  const job = await cell.submit('gebob', ['-q', 'all.q@ge1', '-N', 'victim'], 'sleep 0.5');
  await cell.waitFinished(job);
  const record = await product.record(job);
  const forgeries = [
    { ...record, trust: 'root', owner: 'gebob', exit_status: 99 },
    { ...record, trust: 'root', owner: 'gealice', exit_status: 99, project: 'stolen' },
  ];
  for (const [index, forgery] of forgeries.entries())
    await cell.check('ge1', `cat >/var/lib/qmemacct/outbox/forgery${index}`, {
      user: 'gealice',
      stdin: JSON.stringify(forgery),
    });
  await product.run('ge1', 'flush');
  assert.deepEqual(await product.record(job), record);
}

/** Before our hook runs, the shepherd opens the job's output as its owner, in the owner's directory: a FIFO blocks it. */
async function blockedShepherd({ cell }: Site): Promise<void> {
  const home = cell.layout.home('gealice');
  const { uid } = statSync(home);
  const fifo = join(home, 'kept');
  await cell.check('ge0', `mkfifo ${fifo}`, { user: 'gealice' });
  const job = await cell.submit('gealice', ['-cwd', '-o', fifo, '-j', 'y'], 'true');
  const isBlocked = (): boolean =>
    daemons(ROOT_ALONE).some(
      ({ name, effectiveUid, directoryUid }) => name === 'sge_shepherd' && effectiveUid === uid && directoryUid === uid,
    );
  try {
    await until(isBlocked, 'a shepherd that waits for the FIFO');
    assert.ok(!gridEngineOwners('').has(uid), 'a user was taken for the admin user');
    assert.ok(isBlocked());
  } finally {
    // Opened for reading and writing, so that no writer waits any more.
    const reader = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    await cell.waitFinished(job);
    closeSync(reader);
    rmSync(fifo);
  }
}

/** A job's owner can read the job's live file, which is root's, and not change it. */
async function liveFile({ cell }: Site): Promise<void> {
  const gate = gateFor(cell, 'gealice', 'live');
  const job = await cell.submit('gealice', ['-q', 'all.q@ge1'], gate.wait);
  await awaitFigures(cell, job);
  const inLive = (command: string): Promise<CommandResult> =>
    cell.on('ge1', `cd /run/qmemacct/live && ${command}`, { user: 'gealice' });
  assert.match((await inLive(`cat ${job}.*`)).stdout, /"owner":"gealice"/);
  assert.notEqual((await inLive(`chmod u+w ${job}.*`)).status, 0);
  gate.open();
  await cell.waitFinished(job);
}

describe('a hostile job owner on a real Grid Engine', () => {
  it('gains nothing and harms nobody', limits, async (t) => {
    await withSite(t, { settings: 'accept_self_reported = true' }, async (site) => {
      await t.test('runs nothing as root if /bin/sh is dash', () => nothingRunsAsRoot(site));
      await t.test('runs nothing as root if /bin/sh is bash', () => nothingRunsAsRootUnderBash(site));
      await t.test('puts no escape code on a screen and no formula into CSV by a job name', (inner) =>
        strangeNames(inner, site),
      );
      await t.test('forges no field of a record by arguments and paths that forge config keys', () =>
        forgedConfig(site),
      );
      await t.test('holds up no delivery by links, FIFOs and rubbish in the outbox', () => plantedFiles(site));
      await t.test("changes no record of another user's job", () => forgedRecords(site));
      await t.test('is not taken for the admin user by a shepherd that is blocked in the home directory', () =>
        blockedShepherd(site),
      );
      await t.test("can't change the live file of a job", () => liveFile(site));
      await t.test('puts no queue instance into error', () => assertNoQueueErrors(site.cell));
    });
  });
});
