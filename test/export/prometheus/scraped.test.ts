import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { anything, list, map, object, optional, string, type ValueOf } from '../../../src/base/shape';
import { sampleSnapshot } from '../../live/snapshots';
import { eventually, freePort, startProgram } from '../../support/server-program';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fullNodeText, fullSite } from './full-site';

const PROMETHEUS = '/usr/bin/prometheus';
const NODE_EXPORTER = '/usr/bin/prometheus-node-exporter';
const skip =
  ![PROMETHEUS, NODE_EXPORTER].every((program) => existsSync(program)) &&
  'without Debian packages prometheus and prometheus-node-exporter';
const EXAMPLES = join(packageRoot(), 'docs', 'examples');

const series = object({ metric: map(string), value: list(anything, 2) });
const answered = object({ data: object({ result: list(series) }) });
type Series = ValueOf<typeof series>;

interface Prometheus {
  readonly program: ChildProcess;
  readonly query: (expression: string) => Promise<readonly Series[]>;
  /** Waits until there is something: a scrape may fail on a busy machine. */
  readonly found: (expression: string) => Promise<readonly Series[]>;
}

/** A Prometheus with the configuration of the examples and these targets. */
async function prometheusOf(
  t: TestContext,
  places: { readonly token: string; readonly server: number; readonly node: number },
): Promise<Prometheus> {
  const directory = temporaryDirectory();
  const config = join(directory, 'prometheus.yml');
  const text = readFileSync(join(EXAMPLES, 'prometheus.yml'), 'utf8')
    .replace('scrape_interval: 1m', 'scrape_interval: 3s')
    .replace('/etc/prometheus/qmemacct.token', places.token)
    .replace("'127.0.0.1:8080'", `'127.0.0.1:${places.server}'`)
    .replace("'node01:9100', 'node02:9100'", `'127.0.0.1:${places.node}'`);
  writeFileSync(config, text);
  const port = await freePort();
  const program = startProgram(t, PROMETHEUS, [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const query = async (expression: string): Promise<readonly Series[]> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`);
    assert.ok(answer.ok, `${expression}: ${await answer.clone().text()}`);
    return answered.read(await answer.json()).data.result;
  };
  const found = (expression: string): Promise<readonly Series[]> =>
    eventually(program, async () => {
      const all = await query(expression);
      return all.length > 0 ? all : null;
    });
  return { program, query, found };
}

/** Starts node_exporter with nothing but the metrics of a node, from a file; its port. */
async function nodeExporterOf(t: TestContext, text: string): Promise<number> {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'qmemacct.prom'), text);
  const port = await freePort();
  startProgram(t, NODE_EXPORTER, [
    `--web.listen-address=127.0.0.1:${port}`,
    '--collector.disable-defaults',
    '--collector.textfile',
    `--collector.textfile.directory=${directory}`,
  ]);
  return port;
}

const dashboard = object({
  panels: list(object({ title: string, targets: list(object({ expr: string })) })),
  templating: object({ list: list(object({ name: string, type: string, query: optional(string) })) }),
});

/** The queries of a dashboard, with `.*` for its variables, and the panel or variable of each. */
function questionsOf(file: string): readonly { readonly place: string; readonly expression: string }[] {
  const { panels, templating } = dashboard.read(JSON.parse(readFileSync(join(EXAMPLES, 'grafana', file), 'utf8')));
  const ofPanels = panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }) => ({
      place: `${file}: ${title}`,
      expression: expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$\w+/g, '.*'),
    })),
  );
  const ofVariables = templating.list.flatMap(({ name, type, query }) => {
    if (type !== 'query' || query === undefined) return [];
    const [, selector = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
    return [{ place: `${file}: $${name}`, expression: `count by (${label}) (${selector})` }];
  });
  return [...ofPanels, ...ofVariables];
}

it(
  'a real Prometheus scrapes the server and a node, and has series for every panel and variable of the dashboards',
  { skip, timeout: 2_000_000 },
  async (t) => {
    const token = join(temporaryDirectory(), 'token');
    writeFileSync(token, 'abcdefghijklmnop0123456789\n', { mode: 0o600 });
    const site = await fullSite(t, { metrics_jobs: 3, visibility: 'own', serve_tokens: token });
    const node = await nodeExporterOf(t, fullNodeText());
    const { program, query, found } = await prometheusOf(t, { token, server: site.port, node });

    const hosts = await found('qmemacct_host_up');
    assert.deepEqual(
      hosts.map(({ metric }) => metric.host).sort(),
      sampleSnapshot()
        .hosts.value.map(({ name }) => name)
        .sort(),
    );
    const [jobs] = await found('sum(qmemacct_owner_running_jobs)');
    assert.equal(jobs?.value[1], '12');
    // Prometheus itself sets the label "job".
    const largest = await found('qmemacct_job_used_bytes');
    assert.ok(largest.every(({ metric }) => /^10\d$/.test(metric.job_id ?? '')));
    const [hostile] = await found('qmemacct_owner_day_jobs{owner!~"alice|bob"}');
    assert.equal(hostile?.metric.owner, 'a"b\\c\nd');
    const [ofNode] = await found('qmemacct_node_cpu_busy_ratio');
    assert.deepEqual([ofNode?.metric.host, ofNode?.value[1]], ['127.0.0.1', '0.42']);

    const [faults] = await found('node_textfile_scrape_error');
    assert.equal(faults?.value[1], '0');

    const files = readdirSync(join(EXAMPLES, 'grafana')).filter((name) => name.endsWith('.json'));
    assert.ok(files.length > 0);
    const silent = new Set(files.flatMap(questionsOf));
    const askAll = async (): Promise<true | null> => {
      for (const question of silent) if ((await query(question.expression)).length > 0) silent.delete(question);
      return silent.size === 0 ? true : null;
    };
    await eventually(program, askAll).catch(() => assert.deepEqual([...silent], []));
  },
);
