import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { showNodes, type NodesOptions, type NodesSources } from '../../../src/cli/commands/nodes';
import type { NodeHeartbeat } from '../../../src/record/node-status';
import { memoryReader } from '../../accounting/memory-reader';
import { statusOf } from '../../accounting/suite/node-suite';
import { assertGolden } from '../../report/golden';
import { fakeTerminal } from '../fake-terminal';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const ago = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString();

function heartbeat(host: string, minutes: number, changes: Partial<NodeHeartbeat> = {}): NodeHeartbeat {
  return {
    ...statusOf(host),
    heartbeat_at: ago(minutes),
    clock_offset_seconds: 0.012,
    last_job_at: ago(200),
    ...changes,
  };
}

const OK = heartbeat('node01.cluster.example', 1);
const NODES: readonly NodeHeartbeat[] = [
  OK,
  heartbeat('node02', 45, { version: '1.2.2' }),
  heartbeat('node03', 3, { waiting: 1200, waiting_since: ago(300), scope: 'node' }),
  heartbeat('node04', 5, { disabled: true, listener: false, refused: 1, clock_offset_seconds: -7.5 }),
  heartbeat('node05', 2, { clock_offset_seconds: null, clock_synchronised: false, last_job_at: null }),
  heartbeat('node07', 1, {
    failing_sources: [
      { source: 'ipmi', reason: 'ipmitool took longer than 5 s' },
      { source: 'rapl', reason: 'no RAPL domain in /sys/class/powercap' },
    ],
  }),
  heartbeat('gone', 60 * 24 * 8),
];

interface Run {
  readonly status: number;
  readonly output: string;
  readonly warnings: string;
}

async function nodes(
  options: Partial<NodesOptions> = {},
  known: readonly NodeHeartbeat[] = NODES,
  hosts: readonly string[] | string | NodesSources['hosts'] = [
    'node01',
    'node02',
    'node03',
    'node04',
    'node05',
    'node06',
    'node07',
  ],
  columns?: number,
): Promise<Run> {
  const terminal = fakeTerminal({ columns });
  const sources: NodesSources = {
    open: () => Promise.reject(new Error('not here')),
    askServer: () => Promise.resolve(memoryReader([], [], known)),
    hosts: typeof hosts === 'function' ? hosts : () => Promise.resolve(hosts),
  };
  const status = await showNodes(
    { config: '/nonexistent', color: false, since: '7d', warning: '30m', critical: '2h', ...options },
    terminal,
    sources,
  );
  return { status, output: terminal.output(), warnings: terminal.warnings() };
}

describe('qmemacct nodes', () => {
  it('shows the totals, then every host, the worst first', async () => {
    const { status, output, warnings } = await nodes();
    assert.deepEqual([status, warnings], [0, '']);
    assertGolden('nodes', output.trimEnd().split('\n'));
  });

  it('keeps the totals within a narrow terminal', async () => {
    const { output } = await nodes({}, NODES, [], 60);
    const [totals = ''] = output.split('\n\n');
    assert.match(totals, /versions: /);
    assert.ok(totals.split('\n').every((line) => line.length <= 60));
  });

  it("warns that hosts without a heartbeat are not listed where Grid Engine can't list them", async () => {
    const { output, warnings } = await nodes({}, [OK], 'qconf is not here');
    assert.match(output, /^1 host: 1 ok; /);
    assert.match(warnings, /without a heartbeat are not listed: qconf is not here/);
  });

  it('warns of a clock that is ahead, also where the accounting DB has none of its own', async () => {
    const { output } = await nodes({}, [heartbeat('node01', -90, { clock_offset_seconds: null })], []);
    assert.match(output, /node01 +warning .* the clock is 1:30:00 ahead/);
  });

  it('gives Grid Engine 5 seconds to list its hosts', async () => {
    let seconds = NaN;
    const hosts: NodesSources['hosts'] = (_env, { command_timeout: timeout }) => {
      seconds = timeout;
      return Promise.resolve([]);
    };
    await nodes({}, [OK], hosts);
    assert.equal(seconds, 5);
  });

  it('prints the same totals and hosts as JSON and CSV', async () => {
    const { totals, nodes: all } = JSON.parse((await nodes({ json: true })).output) as {
      readonly totals: object;
      readonly nodes: readonly {
        readonly host: string;
        readonly state: string;
        readonly waiting?: number;
        readonly failing_sources?: readonly object[];
      }[];
    };
    assert.deepEqual(totals, { hosts: 7, ok: 1, warning: 5, critical: 1, waiting: 1200 });
    assert.deepEqual([all[0]?.host, all[0]?.state, all[0]?.waiting], ['node03', 'critical', 1200]);
    const [head, first, ...others] = (await nodes({ csv: true })).output.trimEnd().split(/\r?\n/);
    assert.match(head ?? '', /^host,state,problems,cluster,version,/);
    assert.match(first ?? '', /^node03,critical,/);
    assert.equal(others.length, 6);
    const failing = all.find(({ host }) => host === 'node07');
    assert.deepEqual(failing?.failing_sources?.[0], { source: 'ipmi', reason: 'ipmitool took longer than 5 s' });
    assert.match(others.join('\n'), /^node07,warning,"?2 sources fail: ipmi, rapl"?,.*,ipmi rapl$/m);
  });

  it('shows a Grid Engine host without a heartbeat for a week as critical, not as unknown', async () => {
    const { status, output } = await nodes({ check: true }, NODES.slice(-1), ['gone.cluster.example']);
    assert.equal(status, 2);
    assert.match(output, /^QMEMACCT CRITICAL - 1 host, 1 not ok: gone: no heartbeat for 8d 0h /);
  });

  it('--check prints one line and ends with the status that monitoring expects', async () => {
    const check = { check: true };
    const well = await nodes(check, [OK], ['node01']);
    assert.deepEqual(
      [well.status, well.output],
      [0, 'QMEMACCT OK - 1 host, all are ok | hosts=1 warning=0 critical=0 waiting=0\n'],
    );
    const silent = [heartbeat('a|b\n', 45)];
    const warned = await nodes(check, silent, []);
    assert.equal(warned.status, 1);
    assert.match(warned.output, /^QMEMACCT WARNING - .*a\/b.*no heartbeat for 0:45:00 \| hosts=1 warning=1 .*\n$/);
    assert.equal((await nodes({ ...check, critical: '40m' }, silent, [])).status, 2);
    assert.equal((await nodes({ ...check, warning: '1h' }, silent, [])).status, 0);
    const all = await nodes(check);
    assert.equal(all.status, 2);
    assert.match(all.output, /^QMEMACCT CRITICAL - 7 hosts, 6 not ok: node03: /);
    assert.equal((await nodes(check, [OK], ['node01', 'node02'])).status, 1);
    const unknown = await nodes(check, [], []);
    assert.deepEqual([unknown.status, unknown.warnings], [3, '']);
    assert.match(unknown.output, /^QMEMACCT UNKNOWN - no host has sent a heartbeat \(--since 7d\); .*\n$/);
    await assert.rejects(nodes({}, [], []), { status: 1, message: /no host has sent a heartbeat \(--since 7d\)/ });
    await assert.rejects(nodes({ ...check, critical: 'now' }), { status: 2, message: /--critical now: give a span/ });
  });
});
