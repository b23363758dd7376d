import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkGidRange, slotsOf } from '../../../src/cli/doctor/check-gid-range';
import { checkComplexes, hookPlaces, checkParameters } from '../../../src/cli/doctor/check-gridengine';
import { checkKernel } from '../../../src/cli/doctor/check-kernel';
import { makeOwnedDirectory } from '../../../src/base/set-owner';
import { checkLimits } from '../../../src/cli/doctor/check-limits';
import { checkScope } from '../../../src/cli/doctor/check-scope';
import { checkState, spaceFinding } from '../../../src/cli/doctor/check-state';
import type { Finding } from '../../../src/cli/doctor/finding';
import type { NodeState } from '../../../src/cli/doctor/node-state';
import { nodeDirectories } from '../../../src/cli/install/directories';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import type { OfferedComplex } from '../../../src/gridengine/memory-consumables';
import { DIRECTORY, globalText, hostText, ourLine, queueText, siteOf } from '../install/sites';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf } from '../../support/records';

const root = process.getuid?.() === 0;

const briefly = (findings: Iterable<Finding>): string[] =>
  Array.from(findings, ({ severity, name, says }) => `${severity} ${name}: ${says}`);

describe('checkKernel', () => {
  it('reports a missing list of children, missing I/O counters, and hidepid', () => {
    const bare = temporaryDirectory();
    const found = briefly(checkKernel(bare)).join('\n');
    assert.match(found, /note process tree: no lists of children/);
    assert.match(found, /warning process I\/O: not counted/);
    const hides = (...options: readonly string[]): boolean => {
      writeFileSync(join(bare, 'mounts'), options.map((option) => `proc /proc proc rw${option} 0 0\n`).join(''));
      return briefly(checkKernel(bare)).some((line) => line.startsWith('warning hidepid: '));
    };
    for (const value of ['1', '2', '4', 'noaccess', 'invisible', 'ptraceable'])
      assert.ok(hides('', `,hidepid=${value}`), value);
    assert.deepEqual([hides(''), hides(',hidepid=off'), hides(',hidepid=2', '')], [false, false, false]);
  });
});

describe('checkLimits', () => {
  it("judges the capabilities of a running execd, else root's own", () => {
    const proc = temporaryDirectory();
    mkdirSync(join(proc, 'self'));
    writeFileSync(join(proc, 'self', 'status'), 'Name:\tx\nCapEff:\t000001ffffffffff\n');
    assert.match(briefly(checkLimits(true, proc))[0] ?? '', /^ok CAP_SYS_RESOURCE: root here has it/);
    mkdirSync(join(proc, '77'));
    writeFileSync(join(proc, '77', 'comm'), 'sge_execd\n');
    const status = (permitted: string): void =>
      writeFileSync(
        join(proc, '77', 'status'),
        `Name:\tsge_execd\nUid:\t0\t103\t0\t103\nCapPrm:\t${permitted}\nCapEff:\t0000000000000000\n`,
      );
    status('000001ffffffffff');
    assert.deepEqual(new Set(checkLimits(true, proc).map(({ severity }) => severity)), new Set(['ok']));
    // All but CAP_SYS_RESOURCE.
    status('000001fffeffffff');
    const [resource] = checkLimits(true, proc);
    assert.equal(resource?.severity, 'warning');
    // All but CAP_NET_ADMIN.
    status('000001ffffffefff');
    const [, , netAdmin] = checkLimits(true, proc);
    assert.equal(netAdmin?.severity, 'warning');
    assert.match(netAdmin.says, /execd lacks it: no exit records .* no peak can be proved/);
    assert.match(resource.says, /execd lacks it: limits can't be lifted; jobs with an h_vmem below 1 GiB.*small mode/);
  });

  it('gives an ordinary user a note only', () => {
    assert.equal(checkLimits(false, temporaryDirectory())[0]?.severity, 'note');
  });
});

describe('checkScope', () => {
  it('says what scope "job" costs, where each job has a sampler', () => {
    const top = temporaryDirectory();
    const settings = { ...DEFAULT_SETTINGS, state_dir: top, run_dir: top };
    const job = briefly(checkScope({ ...settings, scope: 'job' }, 64));
    assert.match(
      job.join('\n'),
      /^note scope: "job": a sampler for each job, about 12 MiB each; tasks .* are seen on their job's first host alone$/,
    );
    assert.doesNotMatch(briefly(checkScope({ ...settings, scope: 'node' }, 64)).join('\n'), /for each job/);
  });
});

describe('doctor on Grid Engine', () => {
  it('finds the hooks of every place that has a value of its own', () => {
    const site = siteOf({
      global: globalText(ourLine('prolog', '/site/prolog')),
      locals: { ge1: hostText('epilog /site/epilog') },
      queue: queueText(`NONE,[ge2=${ourLine('prolog')}]`),
    });
    const places = hookPlaces(site, DIRECTORY).map(({ where, stage, ours }) => [where, stage, ours?.original]);
    assert.deepEqual(places, [
      ['global', 'prolog', '/site/prolog'],
      ['queue all.q on ge2', 'prolog', null],
      ['global', 'epilog', undefined],
      ['host ge1', 'epilog', undefined],
    ]);
  });

  it('names the parameters by which Grid Engine tells less', () => {
    const global = `${globalText().replace('accounting=true', 'accounting=false')}execd_params ACCT_RESERVED_USAGE=true\n`;
    const found = briefly([...checkParameters(siteOf({ global }), null, null)]);
    assert.match(found.join('\n'), /^note ACCT_RESERVED_USAGE: set: /m);
    assert.match(found.join('\n'), /^warning reporting_params: accounting=false: /m);
    assert.equal(briefly([...checkParameters(siteOf(), null, 64)]).length, 1);
  });

  it('compares gid_range with the slots of the host', () => {
    const site = siteOf({ queue: queueText().replace(/^slots .*/m, 'slots 4,[@late=300],[ge1=2]') });
    const slots = [...site.execHosts].map((host) => slotsOf(site, host, 'complex_values NONE\n'));
    assert.deepEqual(slots, [2, 300]);
    assert.equal(slotsOf(site, 'ge2', 'complex_values h_vmem=64G,slots=200\n'), 200);
    assert.equal(slotsOf(site, 'ge9', 'complex_values NONE\n'), null);
    assert.match(
      briefly(checkParameters(site, null, 200))[0] ?? '',
      /^warning gid_range: 65400-65500: 101 for 200 slots; /,
    );
    assert.equal(checkGidRange('1000-1049,2000-2049', 100).severity, 'ok');
    assert.equal(checkGidRange('1000-1049 2000', 52).severity, 'warning');
    assert.equal(checkGidRange('none', 52).severity, 'warning');
  });

  it('names the complexes whose memory requests are read wrongly, and the setting to write', () => {
    const state = { settingsPath: '/etc/q.toml' };
    const own = { name: 'site_mem', consumable: 'JOB', preset: '0', isOffered: true } as const;
    const found = (complexes: readonly OfferedComplex[], settings = DEFAULT_SETTINGS): string[] =>
      briefly(checkComplexes(complexes, { ...state, settings }));
    const hVmem = { ...own, name: 'h_vmem', preset: '1G' };
    assert.deepEqual(found([hVmem]).slice(0, 1), ['ok h_vmem: consumable, per job, default 1G']);
    assert.match(found([])[0] ?? '', /^note h_vmem: no such complex/);
    const [, order, perJob] = found([own]);
    assert.match(order ?? '', /^note site_mem: .* request_complex = \["site_mem","h_vmem",.*\] into \/etc\/q.toml/);
    assert.match(perJob ?? '', /^warning site_mem: /);
    const { fix } = checkComplexes([own], { ...state, settings: DEFAULT_SETTINGS })[2] ?? {};
    assert.match(fix ?? '', /^write job_complexes = \["mem_limit","site_mem"\]/);
    const settings = { ...DEFAULT_SETTINGS, request_complex: ['site_mem'], job_complexes: ['site_mem'] };
    assert.equal(found([own], settings).length, 1);
    const ofHost = { ...own, consumable: 'HOST' } as const;
    assert.equal(
      checkComplexes([ofHost], { ...state, settings })[1]?.fix,
      'write host_complexes = ["site_mem"] into /etc/q.toml',
    );
    assert.equal(found([ofHost], { ...settings, host_complexes: ['site_mem'] }).length, 1);
    const byQueue = { ...DEFAULT_SETTINGS, request_complex: ['mem_mb'], request_complex_by_queue: { 'b.q': ['mb2'] } };
    const foreign = found([hVmem], { ...byQueue, job_complexes: ['h_vmem'] });
    assert.match(foreign[1] ?? '', /^warning mem_mb: .* no requestable complex of this name and of type MEMORY/);
    assert.match(foreign[2] ?? '', /^warning mb2: /);
    const unused = { ...own, name: 'mem_free', consumable: 'YES', isOffered: false } as const;
    assert.match(found([unused])[1] ?? '', /^note mem_free: a consumable that neither a host .* has a value for/);
  });
});

describe('spaceFinding', () => {
  it('reports a lack of bytes or inodes, each with its own fix', () => {
    const room = { bavail: 1e6, bsize: 4096, ffree: 1e6, files: 2e6 };
    const found = (lacking: Partial<typeof room>): string => {
      const { severity, says, fix } = spaceFinding('/state', { ...room, ...lacking }, 'make room');
      return `${severity}: ${says} > ${fix ?? ''}`;
    };
    assert.equal(found({}), 'ok: 3.81 GiB free in /state > ');
    assert.match(found({ bavail: 1e5 }), /^warning: 391 MiB free in \/state > make room$/);
    assert.match(found({ bavail: 1e4 }), /^problem: 39.1 MiB free in \/state: summaries .* > make room$/);
    assert.match(found({ ffree: 894 }), /^problem: .* but inodes for only 894 files more: summaries .* > remove files/);
    assert.match(found({ ffree: 0, files: 0 }), /^ok: /);
  });
});

describe('checkState', { skip: root ? false : 'only root may read the state directory' }, () => {
  function nodeState(): NodeState {
    const top = temporaryDirectory();
    const settings = { ...DEFAULT_SETTINGS, state_dir: join(top, 'state'), run_dir: join(top, 'run') };
    for (const wanted of nodeDirectories(settings)) makeOwnedDirectory(wanted.path, wanted.mode, wanted);
    const nothing = { version: null, conf: null, stamp: null };
    return { settings, settingsPath: join(top, 'x.toml'), prefix: join(top, 'opt'), isRoot: true, ...nothing };
  }

  it('finds nothing wrong after an installation', () => {
    const found = checkState(nodeState(), new Date());
    assert.deepEqual(
      found.filter(({ severity }) => severity === 'problem' || severity === 'warning'),
      [],
    );
  });

  it('reports wrong modes, and directories that everyone can write to', () => {
    const state = nodeState();
    chmodSync(join(state.settings.state_dir, 'run'), 0o755);
    chmodSync(state.settings.state_dir, 0o777);
    const found = briefly(checkState(state, new Date())).join('\n');
    assert.match(found, /problem directories: .*state\/run has mode 0755, not 0700/);
    assert.match(found, /problem directories: everyone can write to .*state, and root trusts/);
  });

  it('reports records that wait or were refused, and runs that ended without epilog and sampler', () => {
    const state = nodeState();
    const { state_dir: stateDir } = state.settings;
    const record = recordOf({ trust: 'usage', revision: Date.now() - 2 * 3_600_000 });
    const store = new NodeStore(stateDir);
    for (const run of ['a', 'b']) store.finish(run, 0, record, []);
    store.refuse(store.outbox(1)[0]?.id ?? 0, 'too old');
    store.close();
    mkdirSync(join(stateDir, 'run', '1.0.0123abcd.1.1'));
    writeFileSync(
      join(stateDir, 'run', '1.0.0123abcd.1.1', 'job'),
      'version=1\njob=1\ntask=0\nspool=/x\nshepherd_pid=1\nshepherd_start=1\nboot=0123abcd\nhooks=root\nmemory=full\nend=1\n',
    );
    const found = briefly(checkState(state, new Date())).join('\n');
    assert.match(found, /ok node.db: healthy, .* 2 jobs/);
    assert.match(found, /problem outbox: 1 record waits for the accounting DB, the oldest for 2:00:0/);
    assert.match(found, /warning outbox: 1 refused .*: too old/);
    assert.match(found, /warning runs: 1 ended without epilog and sampler/);
  });

  it('notes the records of users that wait, and whether the settings accept them', () => {
    const state = nodeState();
    const outbox = join(state.settings.state_dir, 'outbox');
    mkdirSync(outbox, { recursive: true });
    writeFileSync(join(outbox, '1.0.abc'), '{}');
    const found = (accepted: boolean): string =>
      briefly(
        checkState({ ...state, settings: { ...state.settings, accept_self_reported: accepted } }, new Date()),
      ).join('\n');
    assert.match(found(false), /note runs: 1 files of users lie in .*outbox and are not taken, most by \S+/);
    assert.doesNotMatch(found(false), /problem directories/);
    assert.match(found(true), /problem directories: .*outbox has mode 0700, not 1733/);
    assert.match(found(true), /note runs: 1 records of jobs' owners wait to be taken in, most by \S+/);
  });

  it('reports a damaged node.db, and that its undelivered records are nowhere else', () => {
    const state = nodeState();
    writeFileSync(join(state.settings.state_dir, 'node.db'), 'no database at all, but long enough to be read as one');
    const found = checkState(state, new Date());
    assert.match(briefly(found).join('\n'), /problem node.db: .*not a database/);
    const { fix } = found.find(({ name, severity }) => name === 'node.db' && severity === 'problem') ?? {};
    assert.match(fix ?? '', /move it away; .* records in it that are not delivered yet are nowhere else/);
  });
});
