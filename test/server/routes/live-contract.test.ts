import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runProgram } from '../../../src/cli/program';
import { USUAL_RULES } from '../../../src/record/request-rules';
import { viewCluster } from '../../../src/live/view';
import { HIDDEN } from '../../../src/record/hidden';
import { LiveState } from '../../../src/server/live/live-state';
import { fakeLiveSources } from '../../cli/fake-live-sources';
import { fakeTerminal } from '../../cli/fake-terminal';
import { AT, sampleRecords, sampleSnapshot } from '../../live/snapshots';
import { startTestSite } from '../test-site';

const NOW = AT + 3000;

/** The arguments of a command, and the path with the same answer. */
const QUESTIONS: readonly (readonly [words: readonly string[], path: string])[] = [
  [['live'], '/v1/live'],
  [['live', '--pending', '--limit', '3'], '/v1/live?pending=true&limit=3'],
  [['live', '-o', 'b*,dave', '--sort', 'job', '-r'], '/v1/live?owner=b*,dave&sort=job&reverse=1'],
  [['live', '-H', 'NODE02', '-q', 'all.q'], '/v1/live?host=NODE02&queue=all.q'],
  [['live', '-j', '102.3,104', '-P', 'NONE'], '/v1/live?job=102.3,104&project=NONE'],
  [['hosts'], '/v1/hosts'],
  [['hosts', '-o', 'bob', '--sort', 'free'], '/v1/hosts?owner=bob&sort=free'],
  [['hosts', '-q', 'all.q@node03'], '/v1/hosts?queue=all.q@node03'],
  [['hosts', '-H', 'node0?', '-u'], '/v1/hosts?host=node0%3F'],
  [['live', '--at-risk'], '/v1/at-risk'],
  [['live', '--at-risk', '--within', '10m', '--share', '0.5'], '/v1/at-risk?within=10m&share=0.5'],
];

/** The same for Grid Engine's XML. */
const IN_XML: readonly (readonly [words: readonly string[], path: string])[] = [
  [['live', '--pending'], '/qstat.xml'],
  [['live'], '/qstat.xml?pending=false'],
  [['live', '--full', '--pending', '-o', 'bob', '-q', 'all.q'], '/qstat.xml?full=true&owner=bob&queue=all.q'],
  [['hosts', '-H', 'node0?'], '/qhost.xml?host=node0%3F'],
];

it('the server answers exactly what the commands print for programs', async (t) => {
  const records = sampleRecords();
  const live = new LiveState({
    makeView: (snapshot) =>
      viewCluster(snapshot, records, {
        rules: USUAL_RULES,
        nowMs: NOW,
      }),
    log: (line) => assert.fail(line),
    overdueMs: 600_000,
    now: () => NOW,
  });
  live.put(sampleSnapshot());
  const site = await startTestSite(t, { live, now: () => NOW });
  let rows = 0;
  const questions = [
    ...QUESTIONS.map(([words, path]) => [[...words, '--json'], path] as const),
    ...IN_XML.map(([words, path]) => [[...words, '--xml'], path] as const),
  ];
  for (const [words, path] of questions) {
    const terminal = fakeTerminal({ now: () => new Date(NOW) });
    await runProgram([...words, '--config', '/dev/null'], '1.2.3', terminal, {
      sources: fakeLiveSources(),
    });
    const printed = terminal.output();
    const got = await site.get(path);
    assert.equal(got.status, 200, got.text);
    assert.equal(got.text, printed, path);
    assert.equal(got.headers['content-type'], path.includes('.xml') ? 'application/xml' : 'application/json');
    rows += printed.split('\n').length;
  }
  assert.ok(rows > 3 * questions.length);
});

it('the XML of the server hides the names of strangers where the site says so', async (t) => {
  const open = await startTestSite(t, { snapshot: sampleSnapshot() });
  const closed = await startTestSite(t, { snapshot: sampleSnapshot(), settings: { serve_names: 'anonymous' } });
  for (const path of ['/qstat.xml', '/qstat.xml?full=true', '/qhost.xml']) {
    const [all, hidden] = await Promise.all([open.get(path), closed.get(path)]);
    const names = (text: string): readonly string[] => [
      ...new Set(Array.from(text.matchAll(/<JB_owner>(.*?)<|"job_owner">(.*?)</g), ([, a, b]) => a ?? b ?? '')),
    ];
    assert.ok(names(all.text).includes('bob') && names(all.text).length > 2, path);
    assert.deepEqual(names(hidden.text), [HIDDEN], path);
  }
});
