import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { showNodes, type NodesOptions, type NodesSources } from '../../../src/cli/commands/nodes';
import type { HeardNode } from '../../../src/record/node-status';
import { memoryReader } from '../../accounting/memory-reader';
import { statusOf } from '../../accounting/suite/node-suite';
import { assertGolden } from '../../report/golden';
import { fakeTerminal } from '../fake-terminal';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const ago = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString();

function heard(host: string, minutes: number, changes: Partial<HeardNode> = {}): HeardNode {
  return { ...statusOf(host), heard_at: ago(minutes), clock_offset_seconds: 0.012, last_job_at: ago(200), ...changes };
}

const WELL = heard('node01.cluster.example', 1);
const NODES: readonly HeardNode[] = [
  WELL,
  heard('node02', 45, { version: '1.2.2' }),
  heard('node03', 3, { waiting: 1200, waiting_since: ago(300), scope: 'node' }),
  heard('node04', 5, { disabled: true, listener: false, refused: 1, clock_offset_seconds: -7.5 }),
  heard('node05', 2, { clock_offset_seconds: null, clock_synchronised: false, last_job_at: null }),
  heard('gone', 60 * 24 * 8),
];

interface Run {
  readonly status: number;
  readonly output: string;
  readonly warnings: string;
}

async function nodes(
  options: Partial<NodesOptions> = {},
  known: readonly HeardNode[] = NODES,
  hosts: readonly string[] | string = ['node01', 'node02', 'node03', 'node04', 'node05', 'node06'],
): Promise<Run> {
  const terminal = fakeTerminal();
  const sources: NodesSources = {
    open: () => Promise.reject(new Error('not here')),
    askServer: () => Promise.resolve(memoryReader([], [], known)),
    hosts: () => Promise.resolve(hosts),
  };
  const status = await showNodes(
    { config: '/nonexistent', color: false, since: '7d', warning: '30m', critical: '2h', ...options },
    terminal,
    sources,
  );
  return { status, output: terminal.output(), warnings: terminal.warnings() };
}

describe('qmemacct nodes', () => {
  it('shows every host, totals first, the worst first', async () => {
    const { status, output, warnings } = await nodes();
    assert.deepEqual([status, warnings], [0, '']);
    assertGolden('nodes', output.trimEnd().split('\n'));
  });

  it('says where it knows no hosts but those that were heard of', async () => {
    const { output, warnings } = await nodes({}, [WELL], 'qconf is not here');
    assert.match(output, /^1 host: 1 well; /);
    assert.match(warnings, /never heard of are not listed: qconf is not here/);
  });

  it('gives programs the same', async () => {
    const { totals, nodes: all } = JSON.parse((await nodes({ json: true })).output) as {
      readonly totals: object;
      readonly nodes: readonly { readonly host: string; readonly state: string; readonly waiting?: number }[];
    };
    assert.deepEqual(totals, { hosts: 6, ok: 1, warning: 4, critical: 1, waiting: 1200 });
    assert.deepEqual([all[0]?.host, all[0]?.state, all[0]?.waiting], ['node03', 'critical', 1200]);
    const [head, first, ...others] = (await nodes({ csv: true })).output.trimEnd().split(/\r?\n/);
    assert.match(head ?? '', /^host,state,problems,cluster,version,/);
    assert.match(first ?? '', /^node03,critical,/);
    assert.equal(others.length, 5);
  });

  it('answers a check with a line and its status', async () => {
    const check = { check: true };
    const well = await nodes(check, [WELL], ['node01']);
    assert.deepEqual(
      [well.status, well.output],
      [0, 'QMEMACCT OK - 1 hosts, all are well | hosts=1 warning=0 critical=0 waiting=0\n'],
    );
    const silent = [heard('a|b\n', 45)];
    const warned = await nodes(check, silent, []);
    assert.equal(warned.status, 1);
    assert.match(warned.output, /^QMEMACCT WARNING - .*a\/b.*silent for 0:45:00 \| hosts=1 warning=1 .*\n$/);
    assert.equal((await nodes({ ...check, critical: '40m' }, silent, [])).status, 2);
    assert.equal((await nodes({ ...check, warning: '1h' }, silent, [])).status, 0);
    const all = await nodes(check);
    assert.equal(all.status, 2);
    assert.match(all.output, /^QMEMACCT CRITICAL - 6 hosts, 5 not well: node03: /);
    assert.equal((await nodes(check, [WELL], ['node01', 'node02'])).status, 1);
    await assert.rejects(nodes(check, [], []), { status: 3, message: /no host was heard of since 7d/ });
    await assert.rejects(nodes({ ...check, critical: 'now' }), { status: 2, message: /--critical now: give a span/ });
  });
});
