import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatSettings, parseAccounting, parseQueueStates, parseSettings, parseTasks } from './formats';

describe("reading Grid Engine's text formats in the cell's helpers", () => {
  it('keeps a category with colons in one field of an accounting record', () => {
    const line =
      'all.q:ge1:gealice:gealice:a job:12:sge:0:1795246886:1795246887:1795246897:0:3:10:0.1:0.2:4660.0:0:0:0:0:495:0:0:16.0:24:0:0:0:7:0:' +
      'NONE:defaultdepartment:NONE:1:4:0.3:0.5:0.01:-l h_rt=24:00:00,h_vmem=1G -q all.q:0.0:NONE:1548288.0:0:0';
    const [record, ...more] = parseAccounting(`# Version: 8.1.9\n${line}\n`);
    assert.equal(more.length, 0);
    assert.equal(record?.category, '-l h_rt=24:00:00,h_vmem=1G -q all.q');
    assert.deepEqual(
      [record.job_name, record.job_number, record.exit_status, record.task_number, record.maxvmem, record.arid],
      ['a job', '12', '3', '4', '1548288.0', '0'],
    );
    assert.throws(() => parseAccounting('all.q:ge1\n'), /2 fields/);
  });

  it('returns the same settings after they are written and read again', () => {
    const settings = parseSettings('#global:\nprolog       root@/bin/true $job_id\nload_sensor  none\n\n');
    assert.deepEqual(
      [...settings],
      [
        ['prolog', 'root@/bin/true $job_id'],
        ['load_sensor', 'none'],
      ],
    );
    assert.deepEqual([...parseSettings(formatSettings(settings))], [...settings]);
  });

  it('finds queue instances with and without state letters', () => {
    const text = [
      'queuename                      qtype resv/used/tot. load_avg arch          states',
      '---------------------------------------------------------------------------------',
      'all.q@ge1                      BIP   0/0/64         0.15     lx-amd64      E',
      '---------------------------------------------------------------------------------',
      'all.q@ge2                      BIP   0/2/64         -NA-     -NA-          ',
      '     12 0.55500 tst        gealice      r     11/21/2026 07:41:26     1        ',
    ].join('\n');
    assert.deepEqual(
      [...parseQueueStates(text)],
      [
        ['all.q@ge1', 'E'],
        ['all.q@ge2', ''],
      ],
    );
  });

  it('finds tasks with their state and queue', () => {
    const xml = `<job_info><queue_info><job_list state="running"><JB_job_number>7</JB_job_number><state>r</state>
<queue_name>all.q@ge1</queue_name><slots>1</slots><tasks>3</tasks></job_list></queue_info><job_info>
<job_list state="pending"><JB_job_number>8</JB_job_number><state>qw</state><queue_name></queue_name></job_list></job_info></job_info>`;
    assert.deepEqual(parseTasks(xml), [
      { job: '7', task: '3', state: 'r', queue: 'all.q@ge1' },
      { job: '8', task: null, state: 'qw', queue: null },
    ]);
  });
});
