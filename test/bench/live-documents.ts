import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';

/**
 * Answers of qstat and qhost of any size, in the shape and with the amount of text that a live 8.1.9 prints (4.8 kB a job
 * of `qstat -j`, 0.8 kB a job of the list, 35 values a host of `qhost -F`), a piece at a time. `recorded`: a real one.
 */
export const DOCUMENTS = ['qstat-j', 'qstat-r', 'qhost', 'recorded'] as const;
export type DocumentName = (typeof DOCUMENTS)[number];

export function isDocumentName(text: string | undefined): text is DocumentName {
  return DOCUMENTS.some((name) => name === text);
}

export function document(name: DocumentName, jobs: number): Iterable<Buffer> {
  if (name === 'qstat-j') return pieces(details(jobs));
  if (name === 'qstat-r') return pieces(list(jobs));
  if (name === 'qhost') return pieces(hosts(jobs));
  return [readFileSync(join(packageRoot(), 'test', 'gridengine', 'fixtures', '8.1.9', 'busy.qstat-j.xml'))];
}

const PIECE = 1 << 16;
const SLOTS_PER_HOST = 32;
const SCHEMAS = 'http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas';

function* pieces(texts: Iterable<string>): Generator<Buffer> {
  let held = '';
  for (const text of texts) {
    held += text;
    if (held.length >= PIECE) {
      yield Buffer.from(held);
      held = '';
    }
  }
  yield Buffer.from(held);
}

const tag = (name: string, text: string | number): string => `<${name}>${text}</${name}>\n`;
const owner = (job: number): string => `user${job % 97}`;
const jobName = (job: number): string => `sweep_${job % 13}%lt;${job % 7}&gt;`;
const host = (index: number): string => `node${String(index).padStart(4, '0')}`;

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['__SGE_PREFIX__O_HOME', '/home/user'],
  ['__SGE_PREFIX__O_PATH', '/opt/ge/bin/lx-amd64:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  ['__SGE_PREFIX__O_SHELL', '/bin/bash'],
  ['__SGE_PREFIX__O_WORKDIR', '/home/user/projects/sweep/run'],
  ['LD_LIBRARY_PATH', '/opt/intel/lib/intel64:/opt/openmpi/4.1/lib:/usr/local/cuda/lib64'],
  ['OMP_NUM_THREADS', '1'],
];

function attributes(names: string, job: number): string {
  return names
    .split(' ')
    .map((name) => tag(name, job % 2))
    .join('');
}

const REQUEST = 'CE_relop CE_consumable CE_dominant CE_pj_doubleval CE_pj_dominant CE_requestable CE_tagged';

function request(name: string, type: number, value: string, amount: number): string {
  const own = tag('CE_name', name) + tag('CE_valtype', type) + tag('CE_stringval', value);
  return `<qstat_l_requests>\n${own}${tag('CE_doubleval', amount.toFixed(6))}${attributes(REQUEST, 0)}</qstat_l_requests>\n`;
}

/** The text before and after the jobs in an answer of `qstat -j`. */
export const DETAILS_HEAD = `<?xml version='1.0'?>\n<detailed_job_info  xmlns:xsd="${SCHEMAS}/qstat/detailed_job_info.xsd">\n<djob_info>\n`;
export const DETAILS_TAIL = '</djob_info>\n<messages>\n<element>\n</element>\n</messages>\n</detailed_job_info>\n';

function* details(jobs: number): Generator<string> {
  yield DETAILS_HEAD;
  for (let job = 1; job <= jobs; job++) yield detail(job);
  yield DETAILS_TAIL;
}

/** The part of `qstat -j` for one job. */
export function detail(job: number): string {
  const variables = ENVIRONMENT.map(
    ([name, value]) => `<job_sublist>\n${tag('VA_variable', name)}${tag('VA_value', value)}</job_sublist>\n`,
  );
  const values = ['cpu', 'mem', 'io', 'iow', 'vmem', 'maxvmem'].map(
    (name, index) => `<scaled>\n${tag('UA_name', name)}${tag('UA_value', (job * 10 ** index).toFixed(6))}</scaled>\n`,
  );
  return `<element>
${tag('JB_job_number', job)}${tag('JB_ar', 0)}${tag('JB_exec_file', `job_scripts/${job}`)}${tag('JB_submission_time', 1_795_000_000 + job)}${tag('JB_owner', owner(job))}${tag('JB_uid', 5000 + (job % 97))}${tag('JB_group', 'users')}${tag('JB_gid', 100)}${tag('JB_account', 'sge')}${tag('JB_merge_stderr', 'false')}<JB_mail_list>
<element>
${tag('MR_user', owner(job))}${tag('MR_host', 'login1')}</element>
</JB_mail_list>
${tag('JB_notify', 'false')}${tag('JB_job_name', jobName(job))}<JB_stdout_path_list>
<path_list>
${tag('PN_path', `/home/user/projects/sweep/logs/${job}.out`)}${tag('PN_host', '')}${tag('PN_file_host', '')}${tag('PN_file_staging', 'false')}</path_list>
</JB_stdout_path_list>
${tag('JB_jobshare', 0)}<JB_hard_resource_list>
${request('h_vmem', 4, '4G', 4 * 2 ** 30)}${request('h_rt', 3, '86400', 86_400)}</JB_hard_resource_list>
<JB_env_list>
${variables.join('')}</JB_env_list>
<JB_job_args>
<element>
${tag('ST_name', `--index=${job}`)}</element>
</JB_job_args>
${tag('JB_script_file', '/home/user/projects/sweep/run.sh')}<JB_ja_tasks>
<ulong_sublist>
${tag('JAT_status', 128)}${tag('JAT_task_number', 1)}<JAT_scaled_usage_list>
${values.join('')}</JAT_scaled_usage_list>
${tag('JAT_start_time', 1_795_000_100 + job)}</ulong_sublist>
</JB_ja_tasks>
${tag('JB_cwd', '/home/user/projects/sweep')}${attributes('JB_deadline JB_execution_time JB_checkpoint_attr JB_checkpoint_interval JB_reserve JB_mail_options JB_priority JB_restart JB_verify JB_script_size', 0)}${tag('JB_pe', 'smp')}<JB_pe_range>
<ranges>
${tag('RN_min', 4)}${tag('RN_max', 4)}${tag('RN_step', 1)}</ranges>
</JB_pe_range>
${attributes('JB_verify_suitable_queues JB_soft_wallclock_gmt JB_hard_wallclock_gmt JB_override_tickets JB_version', 0)}<JB_ja_structure>
<task_id_range>
${tag('RN_min', 1)}${tag('RN_max', 1)}${tag('RN_step', 1)}</task_id_range>
</JB_ja_structure>
${tag('JB_type', 0)}<JB_binding>
<element>
${tag('BN_strategy', 'no_job_binding')}${attributes('BN_type BN_parameter_n BN_parameter_socket_offset BN_parameter_core_offset BN_parameter_striding_step_size', 0)}${tag('BN_parameter_explicit', 'no_explicit_binding')}</element>
</JB_binding>
${tag('JB_ja_task_concurrency', 0)}${tag('JB_nurg', '0.500000')}</element>
`;
}

/** The list of jobs, of which this many run. */
export function* list(jobs: number, running = Math.ceil(jobs / 4)): Generator<string> {
  yield `<?xml version='1.0'?>\n<job_info  xmlns:xsd="${SCHEMAS}/qstat/qstat.xsd">\n  <queue_info>\n`;
  for (let job = 1; job <= running; job++) yield listed(job, true);
  yield '  </queue_info>\n  <job_info>\n';
  for (let job = running + 1; job <= jobs; job++) yield listed(job, false);
  yield '  </job_info>\n</job_info>\n';
}

function listed(job: number, running: boolean): string {
  const second = String(job % 60).padStart(2, '0');
  const line = (name: string, text: string | number): string => `      ${tag(name, text)}`;
  return `    <job_list state="${running ? 'running' : 'pending'}">
${line('JB_job_number', job)}${line('JAT_prio', '0.50500')}${line('JAT_ntix', '0.50000')}${line('JB_nurg', '0.33343')}${line('JB_rrcontr', 1000)}${line('JB_wtcontr', job % 1000)}${line('JB_dlcontr', 0)}${line('JB_name', jobName(job))}${line('JB_owner', owner(job))}${line('JB_project', '')}${line('JB_department', 'defaultdepartment')}${line('state', running ? 'r' : 'qw')}${line(running ? 'JAT_start_time' : 'JB_submission_time', `2026-11-21T17:31:${second}`)}${running ? line('cpu_usage', '12.50000') + line('mem_usage', '0.00111') + line('io_usage', '0.00112') : ''}${line('tickets', 0)}${line('JB_override_tickets', 0)}${line('JB_jobshare', 0)}${line('otickets', 0)}${line('ftickets', 0)}${line('stickets', 0)}${line('JAT_share', '0.00000')}${line('queue_name', running ? `all.q@${host(job % 500)}` : '')}${line('slots', 1 + (job % 4))}${line('full_job_name', jobName(job))}      <requested_pe name="smp">4</requested_pe>
      <hard_request name="h_vmem" resource_contribution="0.000000">4G</hard_request>
      <hard_request name="h_rt" resource_contribution="0.000000">86400</hard_request>
      <binding>NONE</binding>
    </job_list>
`;
}

const LOADS =
  'load_avg load_short load_medium load_long arch num_proc mem_free swap_free virtual_free mem_total swap_total ' +
  'virtual_total mem_used swap_used virtual_used cpu m_topology m_socket m_core m_thread np_load_avg np_load_short ' +
  'np_load_medium np_load_long';

function* hosts(jobs: number): Generator<string> {
  yield `<?xml version='1.0'?>\n<qhost xmlns:xsd="${SCHEMAS}/qhost/qhost.xsd">\n`;
  for (let job = 0, index = 0; job < jobs; job += SLOTS_PER_HOST, index++) yield oneHost(index, job, jobs);
  yield '</qhost>\n';
}

function oneHost(index: number, first: number, jobs: number): string {
  const value = (name: string, text: string): string => `   <hostvalue name='${name}'>${text}</hostvalue>\n`;
  const resources = LOADS.split(' ')
    .map((name) => `   <resourcevalue name='${name}' dominance='hl'>${index % 60}.279785</resourcevalue>\n`)
    .join('');
  const rows = Array.from({ length: Math.min(SLOTS_PER_HOST, jobs - first) }, (_, slot) =>
    running(first + slot + 1, index),
  );
  return ` <host name='${host(index)}'>
${value('arch_string', 'lx-amd64')}${value('num_proc', '32')}${value('m_socket', '2')}${value('m_core', '32')}${value('m_thread', '32')}${value('load_avg', '3.28')}${value('mem_total', '251.5G')}${value('mem_used', '101.1G')}${value('swap_total', '0.0')}${value('swap_used', '0.0')}${resources}   <resourcevalue name='h_vmem' dominance='hc'>195.852G</resourcevalue>
 <queue name='all.q'>
   <queuevalue qname='all.q' name='qtype_string'>BIP</queuevalue>
   <queuevalue qname='all.q' name='slots_used'>32</queuevalue>
   <queuevalue qname='all.q' name='slots'>32</queuevalue>
   <queuevalue qname='all.q' name='slots_resv'>0</queuevalue>
   <queuevalue qname='all.q' name='state_string'></queuevalue>
 </queue>
${rows.join('')} </host>
`;
}

function running(job: number, index: number): string {
  const value = (name: string, text: string): string =>
    `   <jobvalue jobid='${job}' name='${name}'>${text}</jobvalue>\n`;
  return ` <job name='${job}'>
${value('priority', `'0.505000'`)}${value('qinstance_name', `all.q@${host(index)}`)}${value('job_name', jobName(job))}${value('job_owner', owner(job))}${value('job_state', 'r')}${value('start_time', String(1_795_000_100 + job))}${value('queue_name', `all.q@${host(index)}`)}${value('pe_master', 'MASTER')} </job>
`;
}
