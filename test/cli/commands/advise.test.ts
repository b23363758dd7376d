import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { programDigest } from '../../../src/gridengine/program';
import type { JobRecord } from '../../../src/record/record';
import { needing, pastJobs, stoppedAtLimit } from '../../report/past-jobs';
import { temporaryDirectory } from '../../support/temporary-directory';
import { runCommand, type Answer } from '../../support/qmemacct';

interface Site {
  readonly directory: string;
  readonly command: (...words: readonly string[]) => Promise<Answer>;
  readonly advise: (...words: readonly string[]) => Promise<Answer>;
}

async function site(records: readonly JobRecord[]): Promise<Site> {
  const directory = temporaryDirectory();
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `accounting = "${directory}/site.db"\nrun_dir = "${directory}"\nstate_dir = "${directory}"\n`);
  const store = openSqliteStore(join(directory, 'site.db'), 0o600);
  await store.merge(records);
  await store.close();
  const command = (...words: readonly string[]): Promise<Answer> => runCommand(['--config', config, ...words]);
  return { directory, command, advise: (...words) => command('advise', ...words) };
}

const GIB = 2 ** 30;
const owner = userInfo().username;
const mine = (index: number): Partial<JobRecord> => ({ ...needing(7 + ((index * 7) % 10) / 10), owner });

describe('qmemacct advise', () => {
  it('says what to request for a script of the caller, at which risk, and how past predictions have held', async () => {
    const { directory, advise } = await site(pastJobs(60, mine));
    const script = join(directory, 'step_7');
    writeFileSync(script, '#!/bin/sh\n#$ -pe smp 4 -l h_vmem=9G\nexec sim\n');
    const { status, output, warnings } = await advise(script);
    assert.deepEqual([status, warnings], [0, '']);
    assert.match(output, new RegExp(`^step_# of ${owner}, 4 slots, PE smp\n`));
    assert.match(output, /qsub -l h_vmem=2(?:\.\d)?G,h_rt=0:0\d:00\n/);
    assert.match(output, /^ {2}h_vmem=2(?:\.\d)?G +1\.0 % +60 +1\.98 GiB +0 of \d+ \(0 %\)$/m);
    assert.match(output, /^ {2}h_vmem is per slot: 4 x 2(?:\.\d)?G = .* GiB in all\.$/m);
    assert.match(output, /^ {2}Requested now: h_vmem=9G\.$/m);

    symlinkSync(script, join(directory, 'step_8'));
    assert.equal((await advise(join(directory, 'step_8'))).output, output);
    const { output: words } = await advise('--', '-pe', 'smp', '4', '-N', 'step_3', '-b', 'y', 'sim', '-x');
    assert.match(words, /^ {2}h_vmem=2(?:\.\d)?G +1\.0 % +60 /m);
    const { output: named } = await advise('--name', 'step_0', '--slots', '4', '--pe', 'smp', '--csv');
    assert.match(
      named,
      /^complex,request,amount,risk,runs,largest,predictions,failed,undecided\nh_vmem,2(?:\.\d)?G,\d+,0\.01,60,/,
    );
    assert.match(named, /\nh_rt,0:\d\d:00,\d+,[\d.]+,60,300,/);
    const ofQueue = async (queue: string): Promise<string> =>
      (await advise('--name', 'step_0', '--slots', '4', '--queue', queue)).output;
    assert.equal(await ofQueue('all.q@node07'), await ofQueue('all.q'));
  });

  it('takes slots, PE, project and queue that are not given from the newest run that fits the others', async () => {
    const small = { slots: 1, host_slots: 1, pe: null, project: 'small', queue: 'small.q' };
    const large = { slots: 4, host_slots: 4, pe: 'smp', project: 'large', queue: 'large.q' };
    const { advise } = await site(pastJobs(60, (index) => ({ ...mine(index), ...(index % 2 === 0 ? small : large) })));
    const by = async (...words: readonly string[]): Promise<string> =>
      (await advise('--name', 'step_0', ...words)).output;
    assert.match(await by(), / +60 +\d\.\d\d GiB /);
    const ofSize = await by('--slots', '4', '--pe', 'smp');
    assert.match(ofSize, / +30 +\d\.\d\d GiB /);
    assert.deepEqual([await by('--slots', '4'), await by('--pe', 'smp')], [ofSize, ofSize]);
    const ofPlace = await by('--slots', '1', '--project', 'small', '--queue', 'small.q');
    assert.match(ofPlace, new RegExp(`^step_# of ${owner}, 1 slot, project small, queue small.q\n`));
    assert.deepEqual([await by('--project', 'small'), await by('--queue', 'small.q')], [ofPlace, ofPlace]);
  });

  it('keeps the runs of different queues apart where there are no projects', async () => {
    const { advise } = await site(
      pastJobs(60, (index) => ({ ...mine(index), project: null, queue: index % 2 === 0 ? 'small.q' : 'large.q' })),
    );
    for (const queue of ['small.q', 'large.q'])
      assert.match((await advise('--name', 'step_0', '--queue', queue)).output, / +30 +\d\.\d\d GiB /);
  });

  it('uses only runs of the same script or command where there are enough', async () => {
    const text = 'exec sim --slow 12\n';
    const digests = [
      programDigest({ script: Buffer.from(text) }, '/elsewhere'),
      programDigest({ command: '/opt/sim' }, userInfo().homedir),
      '0f0f0f0f.0f0f0f0f',
    ];
    const records = pastJobs(60, (index) => ({
      ...mine(index),
      ...needing(5 + (index % 3)),
      program: digests[index % 3] ?? null,
    }));
    const { directory, advise } = await site(records);
    const script = join(directory, 'step_7');
    writeFileSync(script, `#!/bin/sh\n#$ -pe smp 4 -l h_vmem=9G\n${text}`);
    const byScript = await advise(script);
    assert.match(byScript.output, /^ {2}h_vmem=\S+ +[\d.]+ % +20 +1\.25 GiB /m);
    assert.match(byScript.output, /^ {2}h_vmem, h_rt: from runs of the same script or command only\.$/m);
    const options = ['-pe', 'smp', '4', '-N', 'step_3', '-b', 'y'];
    assert.match(
      (await advise('--', ...options, '/opt/sim', '-x')).output,
      /^ {2}h_vmem=\S+ +[\d.]+ % +20 +1\.50 GiB /m,
    );
    const other = await advise('--', ...options, '/opt/other');
    assert.match(other.output, /^ {2}h_vmem=\S+ +[\d.]+ % +60 +1\.75 GiB /m);
    assert.doesNotMatch(other.output, /same script/);
    assert.match((await advise('1002')).output, /^ {2}h_vmem=\S+ +[\d.]+ % +20 +1\.75 GiB /m);
  });

  it('says how many slots would be enough', async () => {
    const busy = { owner, slots: 4, host_slots: 4, cpu_seconds: 450 };
    const { advise } = await site(pastJobs(10, () => busy));
    const { output } = await advise('--name', 'step_0', '--slots', '4', '--pe', 'smp');
    assert.match(output, /qsub -l h_vmem=700M,/);
    assert.match(
      output,
      /^ {2}Slots: 2 of 4 would do, with h_vmem=1\.4G: the busiest of 10 runs kept 1\.5 busy on average\.$/m,
    );
    const once = { h_vmem: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'job' } } as const;
    const ofJob = await site(pastJobs(10, () => ({ ...busy, ...once })));
    const { output: forJob } = await ofJob.advise('--name', 'step_0', '--slots', '4', '--pe', 'smp');
    assert.match(forJob, /^ {2}Slots: 2 of 4 would do: the busiest /m);
  });

  it('names the memory complex that the past jobs requested', async () => {
    const requests = { mem_free: { request_bytes: 4 * GIB, limit_bytes: 16 * GIB, per: 'slot' } } as const;
    const { advise } = await site(pastJobs(60, () => ({ owner, h_vmem: null, requests })));
    const { output } = await advise('--name', 'step_0', '--slots', '4', '--pe', 'smp');
    assert.match(output, /qsub -l mem_free=\d+M,h_rt=/);
    assert.match(output, /^ {2}mem_free is per slot: 4 x \d+M = .* in all\.$/m);
    assert.doesNotMatch(output, /h_vmem/);
  });

  it('advises on a job by its number, never less than the job needed', async () => {
    const records = pastJobs(30, (index) => ({ ...mine(index), owner: 'bob', ...(index === 29 ? needing(40) : {}) }));
    const { advise } = await site(records);
    const { status, output } = await advise('1029', '--risk', '20', '--json');
    const answer = JSON.parse(output) as {
      readonly class: object;
      readonly request: string;
      readonly memory: Readonly<Record<'request_bytes' | 'runs' | 'predictions', number>> & {
        readonly risk: number | null;
      };
    };
    assert.equal(status, 0);
    assert.deepEqual(answer.class, {
      owner: 'bob',
      job_name: 'step_#',
      slots: 4,
      pe: 'smp',
      project: null,
      queue: 'all.q',
    });
    assert.ok(answer.memory.request_bytes >= 10 * 1024 ** 3, output);
    assert.deepEqual([answer.memory.runs, answer.memory.risk, answer.memory.predictions], [1, null, 0]);
    assert.match(answer.request, /^-l h_vmem=12G,h_rt=/);
    assert.equal((await advise('99')).status, 1);
  });

  it('gives the reason of "qmemacct job" where a job needed more than predicted for its kind', async () => {
    const { advise, command } = await site(
      pastJobs(220, (index) => ({ ...mine(index), ...(index === 110 ? needing(40) : {}) })),
    );
    for (const risk of ['1', '20']) {
      const { output } = await advise('1110', '--risk', risk);
      assert.match(output, /^ {2}h_vmem=12G +\S +1 +10\.0 GiB$/m);
      const { output: job } = await command('job', '1110');
      const [, reason = '-'] = /Next time: qsub -l h_vmem=12G\n.* 4 slots = 48\.0 GiB: ([^]*?)\n\n/.exec(job) ?? [];
      const words = (text: string): string => text.replace(/\s+/g, ' ').trim();
      const note = `h_vmem: from this job only, so no risk can be stated: ${words(reason)}.`;
      assert.ok(words(output).includes(note), output + job);
    }
    const { output } = await command('job', '1110', '--json');
    assert.match(output, /"next_time":\{[^}]*"risk":null,"runs":null\}/);
  });

  it('states no risk where most runs were stopped at a limit, and counts a few as undecided', async () => {
    const { advise } = await site(pastJobs(30, () => ({ owner, ...stoppedAtLimit() })));
    const { output } = await advise('--name', 'step_0', '--slots', '4', '--pe', 'smp');
    assert.match(output, /^ {2}h_vmem=1\.5G +\S +30 +stopped at 1 GiB$/m);
    assert.match(output, /^ {2}h_vmem: most of the runs were stopped at a limit, so no risk can be stated/m);
    const some = await site(pastJobs(60, (index) => (index % 10 === 9 ? { owner, ...stoppedAtLimit() } : mine(index))));
    const { output: shown } = await some.advise('--name', 'step_0', '--slots', '4', '--pe', 'smp', '--risk', '20');
    assert.match(shown, /^ {2}h_vmem=\S+ +[\d.]+ % +60 +1\.98 GiB +0 of 38 \(0 %\) +5$/m);
  });

  it('names the smallest risk that can be stated from few runs', async () => {
    const { advise } = await site(pastJobs(4, mine));
    const { output } = await advise('--name', 'step_5', '--slots', '4', '--pe', 'smp');
    assert.match(output, /h_vmem, h_rt: \d+(\.\d)? % is the smallest risk that can be stated, 1\.0 % takes more runs/);
    const { advise: adviseOfOne } = await site(pastJobs(1, mine));
    assert.match((await adviseOfOne('1000')).output, /too few runs \(3 are needed\)/);
  });

  it('says that no run is known, or what is wrong with the script or an option', async () => {
    const { directory, advise } = await site(pastJobs(1));
    const nothing = await advise('--name', 'unheard-of', '--json');
    assert.equal(nothing.status, 1);
    assert.match(
      nothing.warnings,
      /advise: no run of "unheard-of" of .* in the last year shows what it needs; --name NAME/,
    );
    assert.match(nothing.output, /"request":null,"memory":null,"time":null,"slots":null,"client":"qsub"}\n$/);
    assert.equal((await advise()).status, 1);
    const absent = await advise(join(directory, 'none.sh'));
    assert.equal(absent.status, 3);
    assert.match(absent.warnings, /advise: the script can't be read: .*none\.sh/);
    execFileSync('mkfifo', [join(directory, 'pipe')]);
    assert.match((await advise(join(directory, 'pipe'))).warnings, /can't be read: .*not a regular file/);
    assert.match((await advise('--slots', '4')).warnings, /add --name NAME/);
    for (const wrong of [
      ['--risk', '0'],
      ['--risk', '1/2'],
      ['--slots', '0', '--name', 'x'],
    ])
      assert.equal((await advise(...wrong)).status, 2, wrong.join(' '));
  });

  it('gives "qmemacct job" and the lists the request for next time', async () => {
    const { command } = await site(pastJobs(60, mine));
    for (const detail of [[], ['--full']]) {
      const { output } = await command('job', '1000', ...detail);
      assert.match(output, /Next time: qsub -l h_vmem=2(?:\.\d)?G$/m);
      assert.match(
        output.replace(/\s+/g, ' '),
        /a risk of 1\.0 % by 60 runs of its kind, of which the largest needed 1\.98 GiB per slot/,
      );
    }
    const job = await command('job', '1000', '--json');
    const list = await command('owner', owner, '--since', '2026-11-01', '--limit', '1', '--csv');
    assert.match(
      job.output,
      /"next_time":\{"kind":"lower","complex":"h_vmem","request_bytes":\d+,"risk":0\.01,"runs":60\}/,
    );
    assert.match(list.output, /,lower,h_vmem,\d+,0\.01,60,[\w -]*\n$/);
    assert.equal((await command('job', '1000', '--retry')).status, 1);
    assert.equal((await command('job', '99', '--retry')).status, 4);
    assert.equal((await command('job', '1000-1001', '--retry')).status, 2);
  });

  it('prints no escape sequence from a job name or a script', async () => {
    const { directory, advise } = await site(pastJobs(6, () => ({ owner, job_name: 'a\u001b[2Jb' })));
    const script = join(directory, 'sim.sh');
    writeFileSync(script, '#$ -N "a\u001b[2Jb" -pe "\u001b]0;x" 4 -l "h_vmem=\u001b[1m"\n');
    const { output, warnings, status } = await advise(script);
    assert.equal(status, 0, warnings);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(output + warnings, /\u001b/);
  });
});
