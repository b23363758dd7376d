import assert from 'node:assert/strict';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  checkSources,
  checkSourceSettings,
  processState,
  sourceFinding,
  type SourceProbes,
  type SourceState,
} from '../../../src/cli/doctor/check-sources';
import { type Finding, renderFindings } from '../../../src/cli/doctor/finding';
import { describeReadings, probeSource } from '../../../src/cli/doctor/probe-source';
import { Helper } from '../../../src/sampler/helper/helper';
import { packageRoot } from '../../../src/base/package-root';
import { parseSettings } from '../../../src/record/settings';
import { perfFacts } from '../../../src/sources/job/perf-metrics';
import { raplPerf } from '../../../src/sources/node/rapl-perf';
import { NODE_SOURCES, PROCESS_SOURCES } from '../../../src/sources/registry';
import { unavailable, type OpenSource, type Source, type SourceFacts } from '../../../src/sources/source';
import { assertGolden } from '../../report/golden';
import { testScreen } from '../../report/screens';
import { emptyTree, plant, type Tree } from '../../sources/node/tree';

const PATH = '/etc/qmemacct/qmemacct.toml';
const JOB_PID = 4242;

const settingsOf = (toml: string) => ({ settings: parseSettings(toml, PATH), settingsPath: PATH });
const briefly = (findings: readonly Finding[]): string[] =>
  findings.map(({ severity, name, says, fix }) => `${severity} ${name}: ${says}${fix === null ? '' : ` > ${fix}`}`);

/** A machine in a directory tree: sources that may block are read in this process, and perf events of the node count 7. */
function machine(tree: Tree, toml: string): Parameters<typeof checkSources> {
  const about = settingsOf(toml);
  const { proc, sys, root, now } = tree.place();
  const ground = { proc, sys, root, now };
  const nodeSources = NODE_SOURCES.map((source) =>
    source.name === 'raplperf' ? raplPerf(() => ({ read: () => 7, close: () => undefined })) : source,
  );
  const probes: SourceProbes = {
    ground,
    pid: JOB_PID,
    nodeSources,
    processSources: PROCESS_SOURCES,
    readBlocking: (name, pids) => {
      const [ofNode] = nodeSources.filter((source) => source.name === name);
      if (ofNode !== undefined) return Promise.resolve(probeSource(ofNode, ground, about.settings).answer);
      const [ofProcesses] = PROCESS_SOURCES.filter((source) => source.name === name);
      assert.ok(ofProcesses !== undefined && pids !== undefined);
      return Promise.resolve(probeSource(ofProcesses, ground, about.settings, pids).answer);
    },
  };
  const perf: SourceState = { found: '9 of 9 events' };
  return [about, new Map([[perfFacts, perf]]), probes];
}

function assertGoldenFindings(name: string, findings: readonly Finding[], tree: Tree): void {
  const elsewhere = (text: string): string => text.replaceAll(tree.root, '');
  const plain = findings.map((finding) => ({
    ...finding,
    says: elsewhere(finding.says),
    fix: finding.fix === null ? null : elsewhere(finding.fix),
  }));
  assertGolden(name, renderFindings(plain, testScreen()));
}

const fixture = (...path: readonly string[]): string => join(packageRoot(), 'test', 'fixtures', ...path);

/** Two-socket Xeon with InfiniBand and Lustre; no such hardware was at hand, the files are those of its drivers. */
function hardware(): Tree {
  const tree = plant('xeon-2s-linux-5.14');
  cpSync(fixture('node', 'linux-6.18'), tree.root, { recursive: true });
  cpSync(fixture('pss', 'linux-6.1'), join(tree.root, 'proc'), { recursive: true });
  tree.write(`proc/${JOB_PID}/stat`, `${JOB_PID} (python3) S 1`);
  tree.write(`proc/${JOB_PID}/io`, 'read_bytes: 0\n');
  tree.write('power', 'Current Power                        : 512 Watts\n');
  return tree;
}

const SITE = (tree: Tree): string => `
[sources.ipmi]
command = "/bin/cat ${tree.root}/power"
[sources.diskusage]
enabled = false
[sources.nvidia]
enabled = false
[sources.perf]
enabled = true
interval = 2.5
`;

describe('doctor on the sources', () => {
  it('names what each source found on a machine with much hardware', async () => {
    const tree = hardware();
    const findings = await checkSources(...machine(tree, SITE(tree)));
    const names = findings.map(({ name }) => name);
    assert.deepEqual(names, [
      ...['CPU budget', 'process', 'perf'],
      ...PROCESS_SOURCES.map(({ name }) => name),
      ...NODE_SOURCES.map(({ name }) => name),
    ]);
    assertGoldenFindings('doctor-sources-hardware', findings, tree);
  });

  it('gives a reason for each source that a bare machine lacks, and no warning', async () => {
    const tree = emptyTree();
    mkdirSync(join(tree.root, 'proc'));
    mkdirSync(join(tree.root, 'sys'));
    const off =
      '[sources.diskusage]\nenabled = false\n[sources.nvidia]\nenabled = false\n[sources.ipmi]\ncommand = ""\n';
    const findings = await checkSources(...machine(tree, off));
    for (const { severity, name, says } of findings)
      if (name !== 'CPU budget' && name !== 'perf' && severity !== 'ok')
        assert.match(says, /^unavailable: |^switched off$/, name);
    assert.ok(findings.every(({ severity }) => severity === 'ok' || severity === 'note'));
    assertGoldenFindings('doctor-sources-bare', findings, tree);
  });
});

function source(name: string, more: Partial<Source>): Source {
  const open = (): OpenSource => ({ read: () => [], close: () => undefined });
  const facts = { reads: ['x'], metrics: [], blocking: false, interval: 10, enabled: true, options: {} };
  return { name, ...facts, open, ...more };
}

function oneSource(tree: Tree, toml: string, only: Source): Promise<Finding[]> {
  const [about, ofJob, probes] = machine(tree, toml);
  return checkSources(about, ofJob, { ...probes, nodeSources: [only], processSources: [] });
}

describe('a source', () => {
  it('is a warning where the site switched it on by name and it is not available, else a note', () => {
    const state = unavailable('no such device', 'buy one');
    const off = source('rare', { enabled: false });
    const finding = (toml: string, facts: SourceFacts, of = state): string[] =>
      briefly([sourceFinding(facts, of, settingsOf(toml))]);
    assert.deepEqual(finding('', source('rare', {})), ['note rare: unavailable: no such device > buy one']);
    assert.deepEqual(finding('[sources.rare]\nenabled = true\n', off), [
      'warning rare: unavailable: no such device > buy one',
    ]);
    assert.deepEqual(finding('[sources.rare]\nenabled = true\n', off, unavailable('no such device')), [
      `warning rare: unavailable: no such device > take enabled = true below [sources.rare] out of ${PATH}`,
    ]);
    const fix = `set enabled = true below [sources.rare] in ${PATH}`;
    assert.deepEqual(finding('', off), [`note rare: off unless it is switched on > ${fix}`]);
    assert.deepEqual(finding('[sources.rare]\nenabled = false\n', source('rare', {})), [
      `note rare: switched off > ${fix}`,
    ]);
  });

  it('that is switched off is not opened', async () => {
    let opened = 0;
    const open = (): OpenSource => {
      opened += 1;
      return { read: () => [], close: () => undefined };
    };
    const toml = '[sources.shy]\nenabled = false\n';
    for (const blocking of [true, false]) await oneSource(emptyTree(), toml, source('shy', { blocking, open }));
    assert.equal(opened, 0);
    await oneSource(emptyTree(), '', source('shy', { open }));
    assert.equal(opened, 1);
  });

  it('that has no readings at present is ok, and one that throws is unavailable', async () => {
    assert.deepEqual(
      briefly(await oneSource(emptyTree(), '', source('calm', {}))).at(-1),
      'ok calm: can be read, every 10 s; there is nothing at present',
    );
    const open = (): never => {
      throw new Error('broken\nin two');
    };
    assert.deepEqual(
      briefly(await oneSource(emptyTree(), '', source('broken', { open }))).at(-1),
      'note broken: unavailable: it failed: broken > report this as a bug',
    );
  });

  it('of a process names the files of /proc that are missing', () => {
    const tree = emptyTree();
    assert.deepEqual(processState(join(tree.root, 'proc'), 7), {
      unavailable: `no ${tree.root}/proc/PID/stat, statm, status, io`,
      fix: 'mount /proc',
    });
    for (const name of ['stat', 'statm', 'status']) tree.write(`proc/7/${name}`, 'x');
    assert.match(JSON.stringify(processState(join(tree.root, 'proc'), 7)), /all but input and output/);
  });
});

describe('readings', () => {
  it('are counted by metric, and some of their instances are named', () => {
    const metric = (name: string, instance?: string) => ({
      name,
      unit: 'count' as const,
      kind: 'gauge' as const,
      scope: 'node' as const,
      help: '',
      ...(instance === undefined ? {} : { instance }),
    });
    const metrics = [metric('x_all'), metric('x_rate', 'port'), metric('x_lost', 'port'), metric('x_cold', 'zone')];
    const of = (name: string, ...instances: readonly string[]) =>
      instances.map((instance) => ({ metric: name, instance, value: 1 }));
    assert.equal(describeReadings(metrics, of('x_all', '')), '1 of 4 metrics');
    assert.equal(
      describeReadings(metrics, [
        ...of('x_rate', 'a', 'b', 'c'),
        ...of('x_lost', 'c', 'd', 'e', 'f'),
        ...of('x_cold', 'z'.repeat(99)),
      ]),
      `3 of 4 metrics; per port: a, b, c, d and 2 more; per zone: ${'z'.repeat(40)}...`,
    );
  });
});

describe('a source that hangs', () => {
  it('is given up after the deadline, and the other sources are read all the same', async (t) => {
    const tree = emptyTree();
    const settingsPath = join(tree.root, 'qmemacct.toml');
    writeFileSync(settingsPath, '[sources.slow]\nms = 60000\n');
    const script = join(packageRoot(), 'dist', 'test', 'sampler', 'helper', 'strange-helper-main.js');
    const helper = new Helper({ settingsPath, deadlineMs: (name) => (name === 'slow' ? 400 : 60_000), script });
    t.after(() => helper.close());
    const [about, ofJob, probes] = machine(tree, '');
    const names = ['slow', 'crashes', 'throws', 'good'];
    const begun = performance.now();
    const findings = await checkSources(about, ofJob, {
      ...probes,
      nodeSources: names.map((name) => source(name, { blocking: true })),
      processSources: [],
      readBlocking: (name, pids) => helper.read(name, pids),
    });
    assert.ok(performance.now() - begun < 55_000);
    assert.deepEqual(briefly(findings.slice(-4)), [
      'note slow: unavailable: did not answer within 0.4 s',
      'note crashes: unavailable: the helper process ended (what a pity)',
      'note throws: unavailable: source throws failed: not',
      'ok good: 1 of 0 metrics; every 10 s',
    ]);
  });
});

describe('tables of sources in the settings', () => {
  it('are problems where a source, a key or the type of a value is unknown', () => {
    assert.deepEqual(checkSourceSettings(settingsOf('[sources.ipmi]\ntimeout = 3\n')), []);
    const found = checkSourceSettings(
      settingsOf('[sources.imgi]\n[sources.ipmi]\ntimeout = "3"\n[sources.perf]\nevent = []\n'),
    );
    assert.deepEqual(
      new Set(found.map(({ severity, fix }) => `${severity} ${fix ?? ''}`)),
      new Set(['problem fix or remove that line']),
    );
    const text = briefly(found).join('\n');
    assert.match(text, /qmemacct\.toml: \[sources\.imgi\]: no such source; known are process, /);
    assert.match(text, /\[sources\.ipmi\] timeout: a string where a number is wanted/);
    assert.match(text, /\[sources\.perf\] event: unknown; known are enabled, interval, events, raw/);
  });
});
