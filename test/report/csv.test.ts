import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderCsv } from '../../src/report/csv';
import { hostile, ordinary, selfReported, unsampled } from './sample-records';

/** A reader after RFC 4180, for one line. */
function readLine(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    (match) => match[1]?.replaceAll('""', '"') ?? match[2] ?? '',
  );
}

function rowsOf(csv: string): Record<string, string>[] {
  const [head = '', ...lines] = csv.trimEnd().split('\n');
  const names = readLine(head);
  return lines.map((line) => {
    const cells = readLine(line);
    assert.equal(cells.length, names.length);
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
  });
}

describe('renderCsv', () => {
  it('has stable columns, also without any row', () => {
    assert.equal(
      renderCsv([]),
      'cluster,job_id,task_id,pe_task_id,host,run_id,owner,job_name,queue,project,pe,account,slots,host_slots,' +
        'submitted_at,started_at,ended_at,exit_status,signal,failed,status,trust,wallclock_seconds,cpu_seconds,' +
        'cpu_efficiency,memory_efficiency,processes,max_processes,max_threads,read_bytes,written_bytes,read_chars,' +
        'written_chars,claimed_by_tree_only,claimed_by_group_only,samples,interval_seconds,longest_gap_seconds,' +
        'unobserved_start_seconds,rss_byte_seconds,revision,attempt,h_vmem_request_bytes,h_vmem_limit_bytes,h_vmem_per,' +
        ['peak_rss', 'peak_rss_swap', 'peak_vmem', 'peak_process_vmem', 'peak_footprint']
          .flatMap((peak) =>
            ['lower_bytes', 'upper_bytes', 'slack_bytes', 'proved', 'exact', 'open', 'sources', 'at', 'command'].map(
              (end) => `${peak}_${end}`,
            ),
          )
          .join(',') +
        ',sampler_cpu_seconds,sampler_max_rss_bytes,sampler_mode,requests,notes,metrics,granted_hosts' +
        ',ge_wallclock_seconds,ge_cpu_seconds,ge_maxvmem_bytes,ge_maxrss_bytes,ge_mem_gib_seconds,ge_io_gib,ge_category,ge_deleted_by\n',
    );
  });

  it('flattens a record', () => {
    const [row] = rowsOf(renderCsv([{ record: ordinary, attempt: 2 }]));
    assert.equal(row?.job_id, '4711');
    assert.equal(row.task_id, '');
    assert.equal(row.attempt, '2');
    assert.equal(row.peak_rss_lower_bytes, '1644167168');
    assert.equal(row.peak_rss_upper_bytes, '');
    assert.equal(row.peak_rss_open, 'no-exit-records no-lineage');
    assert.equal(row.peak_footprint_proved, '');
    assert.equal(row.requests, 'mem_free=8589934592');
    assert.equal(row.sampler_mode, 'full');
    const [closed] = rowsOf(renderCsv([{ record: selfReported, attempt: 1 }]));
    assert.equal(closed?.peak_rss_exact, 'true');
  });

  it('tells the hosts of a parallel job', () => {
    const hosts = [
      { host: 'node07', slots: 4 },
      { host: 'node08', slots: 2 },
    ];
    const [row, other] = rowsOf(
      renderCsv([
        { record: { ...ordinary, granted_hosts: hosts }, attempt: 1 },
        { record: ordinary, attempt: 1 },
      ]),
    );
    assert.deepEqual([row?.granted_hosts, other?.granted_hosts], ['node07=4 node08=2', '']);
  });

  it('is safe with what users wrote', () => {
    const csv = renderCsv([
      { record: hostile, attempt: 1 },
      { record: unsampled, attempt: 1 },
    ]);
    assert.doesNotMatch(csv.replaceAll('\n', ''), /\p{C}/u);
    const [row, other] = rowsOf(csv);
    assert.equal(row?.owner, "'=cmd()|' /C calc'!A0");
    assert.equal(row.job_name, '<&"> \\x1b[31mred\\x1b[0m \\u202egnp.exe =cmd() ünïcödé 日本語\\x07');
    assert.match(other?.notes ?? '', /^No sampler was started/);
  });
});
