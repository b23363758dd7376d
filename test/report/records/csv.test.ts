import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextRequests } from '../../../src/report/advice/next-request';
import { renderCsv } from '../../../src/report/records/csv';
import { hostile, ordinary, selfReported, unsampled } from '../sample-records';

/** Reads one line as RFC 4180 says. */
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
  it('has the same columns with and without rows', () => {
    assert.equal(
      renderCsv([]),
      'cluster,job_id,task_id,pe_task_id,host,run_id,owner,job_name,queue,project,pe,account,program,slots,' +
        'host_slots,granted_hosts,submitted_at,started_at,ended_at,exit_status,signal,failed,status,' +
        'trust,h_vmem_request_bytes,h_vmem_limit_bytes,h_vmem_per,requests,request_order,request_complex,' +
        'request_bytes,request_limit_bytes,request_per,peak_rss_lower_bytes,' +
        'peak_rss_upper_bytes,peak_rss_slack_bytes,peak_rss_proved,peak_rss_exact,peak_rss_open,' +
        'peak_rss_sources,peak_rss_at,peak_rss_command,peak_rss_swap_lower_bytes,' +
        'peak_rss_swap_upper_bytes,peak_rss_swap_slack_bytes,peak_rss_swap_proved,peak_rss_swap_exact,' +
        'peak_rss_swap_open,peak_rss_swap_sources,peak_rss_swap_at,peak_rss_swap_command,' +
        'peak_vmem_lower_bytes,peak_vmem_upper_bytes,peak_vmem_slack_bytes,peak_vmem_proved,' +
        'peak_vmem_exact,peak_vmem_open,peak_vmem_sources,peak_vmem_at,peak_vmem_command,' +
        'peak_process_vmem_lower_bytes,peak_process_vmem_upper_bytes,peak_process_vmem_slack_bytes,' +
        'peak_process_vmem_proved,peak_process_vmem_exact,peak_process_vmem_open,' +
        'peak_process_vmem_sources,peak_process_vmem_at,peak_process_vmem_command,' +
        'peak_footprint_lower_bytes,peak_footprint_upper_bytes,peak_footprint_slack_bytes,' +
        'peak_footprint_proved,peak_footprint_exact,peak_footprint_open,peak_footprint_sources,' +
        'peak_footprint_at,peak_footprint_command,wallclock_seconds,suspended_seconds,cpu_seconds,cpu_efficiency,' +
        'memory_efficiency,queue_wait_seconds,processes,max_processes,max_threads,read_bytes,written_bytes,' +
        'read_chars,written_chars,claimed_by_tree_only,claimed_by_group_only,samples,interval_seconds,' +
        'longest_gap_seconds,unobserved_start_seconds,rss_byte_seconds,sampler_cpu_seconds,' +
        'sampler_max_rss_bytes,sampler_mode,ge_wallclock_seconds,ge_cpu_seconds,ge_user_seconds,' +
        'ge_system_seconds,ge_maxvmem_bytes,ge_maxrss_bytes,ge_mem_gib_seconds,ge_io_gib,ge_category,ge_submit_command,' +
        'ge_deleted_by,ge_lines,metrics,notes,revision,attempt,next_time_kind,next_time_complex,' +
        'next_time_request_bytes,next_time_risk,next_time_runs,classes\n',
    );
  });

  it('writes the fields of a record into flat columns', () => {
    const [row] = rowsOf(renderCsv(nextRequests([{ record: ordinary, attempt: 2, incarnation: 1 }])));
    assert.equal(row?.job_id, '4711');
    assert.equal(row.task_id, '');
    assert.equal(row.attempt, '2');
    assert.deepEqual([row.next_time_kind, row.next_time_complex, row.next_time_risk], ['lower', 'h_vmem', '']);
    assert.equal(row.next_time_request_bytes, String(650 * 1024 ** 2));
    assert.equal(row.peak_rss_lower_bytes, '1644167168');
    assert.equal(row.peak_rss_upper_bytes, '');
    assert.equal(row.peak_rss_open, 'no-exit-records no-lineage');
    assert.equal(row.peak_footprint_proved, '');
    assert.equal(row.requests, 'mem_free=8589934592');
    assert.equal(row.sampler_mode, 'full');
    const [closed] = rowsOf(renderCsv([{ record: selfReported, attempt: 1, next_time: null }]));
    assert.equal(closed?.peak_rss_exact, 'true');
  });

  it('lists the hosts of a parallel job', () => {
    const hosts = [
      { host: 'node07', slots: 4 },
      { host: 'node08', slots: 2 },
    ];
    const [row, other] = rowsOf(
      renderCsv([
        { record: { ...ordinary, granted_hosts: hosts }, attempt: 1, next_time: null },
        { record: ordinary, attempt: 1, next_time: null },
      ]),
    );
    assert.deepEqual([row?.granted_hosts, other?.granted_hosts], ['node07=4 node08=2', '']);
  });

  it('escapes what users wrote', () => {
    const csv = renderCsv([
      { record: hostile, attempt: 1, next_time: null },
      { record: unsampled, attempt: 1, next_time: null },
    ]);
    assert.doesNotMatch(csv.replaceAll('\n', ''), /\p{C}/u);
    const [row, other] = rowsOf(csv);
    assert.equal(row?.owner, "'=cmd()|' /C calc'!A0");
    assert.equal(row.job_name, '<&"> \\x1b[31mred\\x1b[0m \\u202egnp.exe =cmd() ünïcödé 日本語\\x07');
    assert.match(other?.notes ?? '', /^No sampler was started/);
  });
});
