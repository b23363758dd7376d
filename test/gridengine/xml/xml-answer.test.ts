import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import type { AnswerReader } from '../../../src/gridengine/reading';
import { readXmlAnswer } from '../../../src/gridengine/xml/xml-answer';
import { anySizes, feed, garbage } from '../feed';

/** Hands over the name and text of each leaf. */
function readLeaves(onLeaf: (text: string) => void): AnswerReader {
  let leaf = false;
  return readXmlAnswer('job_info', {
    open: () => (leaf = true),
    close(name, place) {
      if (leaf) onLeaf(`${name}=${place.text()}`);
      leaf = false;
    },
  });
}

const schema = 'xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd"';
const answer = `<?xml version='1.0'?>
<job_info  ${schema}>
  <queue_info>
  </queue_info>
  <job_info>
    <slots>1</slots>
  </job_info>
</job_info>
`;

const states = (text: string | Uint8Array) => {
  const { end } = feed(readLeaves, text);
  return [end.state, end.said] as const;
};

describe('readXmlAnswer', () => {
  it('finds the end of a root element whose name is used twice', () => {
    const { items, end } = feed(readLeaves, answer);
    assert.deepEqual(items, ['queue_info=\n  ', 'slots=1']);
    assert.deepEqual(end, { state: 'complete', said: null, dialect: 'sge8.1.9', unknownJobs: [] });
    assert.deepEqual(states(answer.slice(0, answer.lastIndexOf('</job'))), ['truncated', null]);
  });

  it('reports the text around the document', () => {
    assert.deepEqual(states(`warning: old client\n${answer}`), ['complete', 'warning: old client']);
    assert.deepEqual(states(`${answer}error: too late\n`), ['complete', 'error: too late']);
    const { items } = feed(readLeaves, `warning: a < b\n${answer}<job_info><slots>2</slots></job_info>`);
    assert.equal(items.filter((item) => item.startsWith('slots')).length, 1);
  });

  it('reads the ids of unknown jobs from a line of text', () => {
    assert.deepEqual(feed(readLeaves, 'Following jobs do not exist: 12, 13\n').end, {
      state: 'complete',
      said: 'Following jobs do not exist: 12, 13',
      dialect: 'unknown',
      unknownJobs: ['12', '13'],
    });
  });

  it('tells no answer, a refusal and foreign output apart', () => {
    assert.deepEqual(states(''), ['empty', null]);
    assert.deepEqual(states(' \n\n'), ['empty', null]);
    const refused = 'error: commlib error: got select error (Connection refused)';
    assert.deepEqual(states(`${refused}\nerror: unable to send message to qmaster\n`), ['refused', refused]);
    const denied = 'denied: host "login1" is neither submit nor admin host';
    assert.deepEqual(states(denied), ['refused', denied]);
    assert.deepEqual(states('error: unknown option <what>'), ['refused', 'error: unknown option']);
    assert.deepEqual(states('Job id    Name\n123.server  x\n'), ['foreign', 'Job id    Name']);
    assert.deepEqual(states('<html><body>Proxy error</body></html>'), ['foreign', 'Proxy error']);
  });

  it('reads comunication_error', () => {
    const text = `<?xml version='1.0'?>
<comunication_error  ${schema}>
  <>
    <AN_status>31</AN_status>
    <AN_text>denied: host &quot;x&quot; is no submit host</AN_text>
    <AN_quality>0</AN_quality>
  </>
</comunication_error>`;
    assert.deepEqual(states(text), ['refused', 'denied: host "x" is no submit host']);
  });

  it('reads unknown_jobs', () => {
    const text = `<?xml version='1.0'?>
<unknown_jobs  ${schema}>
  <>
    <ST_name>1526</ST_name>
  </>
  <>
    <ST_name>no such</ST_name>
  </>
</unknown_jobs>`;
    const { items, end } = feed(readLeaves, text);
    assert.deepEqual(items, []);
    assert.deepEqual(end.state, 'complete');
    assert.deepEqual(end.unknownJobs, ['1526', 'no such']);
    assert.equal(feed(readLeaves, text.slice(0, -8)).end.state, 'truncated');
  });

  it('finds the schema of Univa in another attribute', () => {
    const univa = '<job_info xmlns:xsi="http://x" xsi:schemaLocation="http://www.univa.com/schemas q.xsd"></job_info>';
    assert.equal(feed(readLeaves, univa).end.dialect, 'univa');
  });

  it('reads the same wherever the answer is cut into pieces, from garbage too', () => {
    const noise = `error: <a> odd\n${answer}denied: late`;
    const whole = feed(readLeaves, noise);
    fc.assert(fc.property(anySizes, (sizes) => assert.deepEqual(feed(readLeaves, noise, sizes), whole)));
    const words = ['<job_info>', '</job_info>', '<unknown_jobs>', '<comunication_error>', '<>', '</>', 'error: ', '\n'];
    fc.assert(
      fc.property(garbage(words), anySizes, (bytes, sizes) => {
        const { end } = feed(readLeaves, bytes, sizes);
        assert.ok(end.said === null || end.said.length > 0);
        assert.deepEqual(end, feed(readLeaves, bytes).end);
      }),
    );
  });
});
