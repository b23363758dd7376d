import assert from 'node:assert/strict';
import { spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { checkJson, list, number, object, string, type ValueOf } from '../../../src/base/shape';
import { openMetricSink, SENT } from '../../../src/export/push/sink';
import { eventually, freePort, startProgram } from '../../support/server-program';
import { temporaryDirectory } from '../../support/temporary-directory';
import { point, sinkOf } from './servers';

/** Sinks against the programs that sites have, where they are installed (Debian: graphite-carbon, graphite-web, influxdb, victoria-metrics). */

const found = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const without = (...programs: readonly string[]): string | false =>
  programs.every(found) ? false : `${programs.join(' or ')} is not installed`;

const OWNER = 'eve, x=1\\';
const NOW = Math.floor(Date.now() / 1000) * 1000;
const POINTS = [
  point({ labels: { host: 'node01' }, at: NOW }),
  point({ metric: 'qmemacct_node_owner_jobs', labels: { host: 'node01', owner: OWNER }, value: 3, at: NOW }),
];

/** Sends the points, as soon as the program takes them. */
async function sent(child: ChildProcess, settings: ReturnType<typeof sinkOf>): Promise<void> {
  const sink = await openMetricSink(settings);
  await eventually(child, async () => ((await sink.test()).kind === 'sent' ? true : null));
  assert.deepEqual(await sink.send(POINTS), SENT);
}

it('VictoriaMetrics has what is sent to it', { skip: without('victoria-metrics'), timeout: 2_000_000 }, async (t) => {
  const [http, graphite] = [await freePort(), await freePort()];
  const child = startProgram(t, 'victoria-metrics', [
    `-storageDataPath=${join(temporaryDirectory(), 'data')}`,
    `-httpListenAddr=127.0.0.1:${http}`,
    `-graphiteListenAddr=127.0.0.1:${graphite}`,
  ]);
  const base = `http://127.0.0.1:${http}`;
  await sent(child, sinkOf({ kind: 'influx', address: `${base}/write`, what: 'node' }));
  await sent(child, sinkOf({ kind: 'graphite', address: `tcp://127.0.0.1:${graphite}`, what: 'node' }));
  const expected = [
    'qmemacct.node01.node_cpu_logical: 8',
    'qmemacct.node01.node_owner_jobs.eve%2C%20x=1%5C: 3',
    'qmemacct_node_cpu_logical_value: 8',
    'qmemacct_node_owner_jobs_value eve, x=1/: 3',
  ];
  const lines = await eventually(child, async () => {
    await fetch(`${base}/internal/force_flush`);
    const text = await (await fetch(`${base}/api/v1/export?match[]={__name__=~"qmemacct.*"}`)).text();
    const series = text.split('\n').filter(Boolean);
    return series.length < expected.length ? null : series;
  });
  const read = lines.map((line) => {
    const { metric, values } = JSON.parse(line) as { metric: Record<string, string>; values: number[] };
    return `${metric.__name__ ?? ''}${metric.owner === undefined ? '' : ` ${metric.owner}`}: ${values.join()}`;
  });
  assert.deepEqual(read.sort(), expected);
});

it('InfluxDB has what is sent to it', { skip: without('influxd'), timeout: 2_000_000 }, async (t) => {
  const directory = temporaryDirectory();
  const [http, rpc] = [await freePort(), await freePort()];
  const config = join(directory, 'influxdb.conf');
  const lines = [
    `bind-address = "127.0.0.1:${rpc}"`,
    `[meta]\ndir = "${directory}/meta"`,
    `[data]\ndir = "${directory}/data"\nwal-dir = "${directory}/wal"`,
    `[http]\nbind-address = "127.0.0.1:${http}"`,
  ];
  writeFileSync(config, `reporting-disabled = true\n${lines.join('\n')}\n`);
  const child = startProgram(t, 'influxd', ['run', '-config', config]);
  const query = async (text: string): Promise<string> => {
    const url = `http://127.0.0.1:${http}/query?db=sink&epoch=ms&q=${encodeURIComponent(text)}`;
    return (await fetch(url, { method: 'POST' })).text();
  };
  await eventually(child, async () => ((await query('CREATE DATABASE sink')).includes('results') ? true : null));
  await sent(child, sinkOf({ kind: 'influx', address: `http://127.0.0.1:${http}/write?db=sink`, what: 'node' }));
  const answer = await query('SELECT host, owner, value FROM qmemacct_node_owner_jobs');
  assert.ok(answer.includes(`[[${NOW},"node01","eve, x=1/",3]]`), answer);
});

const GRAPHITE_WEB = '/usr/lib/python3/dist-packages/graphite/settings.py';

/** Settings of graphite-web for the files in `whisper` beside them. */
const GRAPHITE_SETTINGS = `
import os
from graphite.settings import *
STORAGE_DIR = LOG_DIR = os.path.dirname(os.path.abspath(__file__))
INDEX_FILE = os.path.join(STORAGE_DIR, 'index')
WHISPER_DIR = os.path.join(STORAGE_DIR, 'whisper')
STANDARD_DIRS = [WHISPER_DIR]
CARBONLINK_HOSTS = []
SECRET_KEY = 'test'
`;
const ASK_GRAPHITE = `
import json, sys, django
django.setup()
from django.test import Client
query = {'from': '-1h', 'format': 'json', 'noNullPoints': 'true'}
json.dump([json.loads(Client().get('/render/', {'target': target, **query}).content) for target in sys.argv[1:]], sys.stdout)
`;
const rendered = list(list(object({ target: string, datapoints: list(list(number(), 2), 10) }), 10), 10);

/** What graphite-web answers for each target; null: there is a target without data yet. */
function askGraphite(directory: string, targets: readonly string[]): ValueOf<typeof rendered> | null {
  writeFileSync(join(directory, 'site_settings.py'), GRAPHITE_SETTINGS);
  const env = { PATH: '/usr/bin:/bin', PYTHONPATH: directory, DJANGO_SETTINGS_MODULE: 'site_settings' };
  const { stdout, stderr } = spawnSync('/usr/bin/python3', ['-c', ASK_GRAPHITE, ...targets], { encoding: 'utf8', env });
  const answer = checkJson(rendered, stdout, stderr);
  if (!answer.ok) throw new Error(answer.error);
  const hasData = answer.value.every((found) => found.some(({ datapoints }) => datapoints.length > 0));
  return hasData ? answer.value : null;
}

for (const kind of ['graphite', 'graphite-pickle'] as const)
  it(
    `carbon has what is sent to it, and graphite-web shows it (${kind})`,
    { skip: without('carbon-cache') || (!existsSync(GRAPHITE_WEB) && 'no graphite-web'), timeout: 2_000_000 },
    async (t) => {
      const directory = temporaryDirectory();
      const [line, pickle, query] = [await freePort(), await freePort(), await freePort()];
      const whisper = join(directory, 'whisper');
      mkdirSync(whisper);
      const config = join(directory, 'carbon.conf');
      const places = ['STORAGE', 'CONF', 'LOG', 'PID'].map((name) => `${name}_DIR = ${directory}`);
      const ports = [
        ...[`LINE_RECEIVER_PORT = ${line}`, `PICKLE_RECEIVER_PORT = ${pickle}`, `CACHE_QUERY_PORT = ${query}`],
        ...['LINE', 'PICKLE'].map((name) => `${name}_RECEIVER_INTERFACE = 127.0.0.1`),
        'CACHE_QUERY_INTERFACE = 127.0.0.1',
      ];
      const rest = [`LOCAL_DATA_DIR = ${whisper}`, 'MAX_CREATES_PER_MINUTE = inf', 'USER =', 'ENABLE_TAGS = False'];
      writeFileSync(config, `[cache]\n${[...places, ...ports, ...rest].join('\n')}\n`);
      writeFileSync(join(directory, 'storage-schemas.conf'), '[all]\npattern = .*\nretentions = 1s:1d\n');
      const child = startProgram(t, 'carbon-cache', [`--config=${config}`, '--nodaemon', 'start']);
      const port = kind === 'graphite' ? line : pickle;
      await sent(child, sinkOf({ kind, address: `tcp://127.0.0.1:${port}`, what: 'node' }));
      const target = 'qmemacct.node01.node_owner_jobs.eve%2C%20x=1%5C';
      await eventually(child, () => existsSync(join(whisper, `${target.replaceAll('.', '/')}.wsp`)) || null);
      const answers = await eventually(child, () => askGraphite(directory, [target, 'qmemacct.*.node_owner_jobs.*']));
      const expected = [{ target, datapoints: [[3, NOW / 1000]] }];
      assert.deepEqual(answers, [expected, expected]);
    },
  );
