/** Answers of qstat's lists as the dialects print them, shortened. */

const s = 'http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd';
const sunsource =
  'http://gridengine.sunsource.net/source/browse/*checkout*/gridengine/source/dist/util/resources/schemas/qstat/qstat.xsd?revision=1.11';
const ocs =
  'https://github.com/hpc-gridware/clusterscheduler/raw/master/source/dist/util/resources/schemas/qstat/qstat.xsd';

/** `qstat -u '*' -r -ext -urg -xml` of 8.1.9. */
export const list819 = `<?xml version='1.0'?>
<job_info  xmlns:xsd="${s}">
  <queue_info>
    <job_list state="running">
      <JB_job_number>103</JB_job_number>
      <JAT_prio>0.55500</JAT_prio>
      <JAT_ntix>0.50000</JAT_ntix>
      <JB_nurg>0.50000</JB_nurg>
      <JB_urg>1.23e+05</JB_urg>
      <JB_rrcontr>1000</JB_rrcontr>
      <JB_wtcontr>0</JB_wtcontr>
      <JB_dlcontr>0</JB_dlcontr>
      <JB_name>weird%lt;&amp;&quot;</JB_name>
      <JB_owner>bob</JB_owner>
      <JB_project>climate</JB_project>
      <JB_department>defaultdepartment</JB_department>
      <state>r</state>
      <JAT_start_time>2026-11-21T10:07:58</JAT_start_time>
      <cpu_usage>1.23e+05</cpu_usage>
      <mem_usage>1234.56789</mem_usage>
      <io_usage>0.00000</io_usage>
      <tickets>0</tickets>
      <JB_override_tickets>0</JB_override_tickets>
      <JB_jobshare>0</JB_jobshare>
      <otickets>0</otickets>
      <ftickets>0</ftickets>
      <stickets>0</stickets>
      <JAT_share>0.00000</JAT_share>
      <queue_name>all.q@node01</queue_name>
      <slots>4</slots>
      <full_job_name>weird%lt;&amp;&quot;&gt;x</full_job_name>
      <master_queue>all.q@node01</master_queue>
      <requested_pe name="mpi">2-8</requested_pe>
      <granted_pe name="mpi">4</granted_pe>
      <hard_request name="h_vmem" resource_contribution="0.000000">3G</hard_request>
      <hard_request name="h_rt" resource_contribution="0.000000">3600</hard_request>
      <soft_request name="mem_free">1G</soft_request>
      <hard_req_queue>all.q</hard_req_queue>
      <binding>NONE</binding>
    </job_list>
    <job_list state="running">
      <JB_job_number>102</JB_job_number>
      <JAT_prio>0.50500</JAT_prio>
      <JB_name>arr</JB_name>
      <JB_owner>alice</JB_owner>
      <JB_project></JB_project>
      <state>dr</state>
      <JAT_start_time>2026-11-21T10:06:40</JAT_start_time>
      <queue_name>all.q@node02</queue_name>
      <slots>1</slots>
      <tasks>3</tasks>
      <full_job_name>arr</full_job_name>
      <def_hard_request name="h_vmem" resource_contribution="0.000000">1G</def_hard_request>
    </job_list>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <JB_job_number>104</JB_job_number>
      <JAT_prio>0.00000</JAT_prio>
      <JB_name>later</JB_name>
      <JB_owner>alice</JB_owner>
      <state>hqw</state>
      <JB_submission_time>2026-11-21T10:00:00</JB_submission_time>
      <queue_name></queue_name>
      <slots>2</slots>
      <tasks>1-5:2,8</tasks>
    </job_list>
  </job_info>
</job_info>
`;

/** `qstat -f -F h_vmem -t -xml` of 8.1.9: the queue instance stands around its jobs, sub-tasks inside them. */
export const full819 = `<?xml version='1.0'?>
<job_info  xmlns:xsd="${s}">
  <queue_info>
    <Queue-List>
      <name>all.q@node01</name>
      <qtype>BIP</qtype>
      <slots_used>1</slots_used>
      <slots_resv>0</slots_resv>
      <slots_total>16</slots_total>
      <np_load_avg>0.01</np_load_avg>
      <arch>lx-amd64</arch>
      <state>a</state>
      <load-alarm-reason>np_load_avg=1.9 (no load adjustment) &gt;= 1.75</load-alarm-reason>
      <resource name="h_vmem" type="hc">12.000G</resource>
      <job_list state="running">
        <JB_job_number>11</JB_job_number>
        <JAT_prio>0.75000</JAT_prio>
        <JB_name>tight</JB_name>
        <JB_owner>carol</JB_owner>
        <state>r</state>
        <JAT_start_time>2026-11-21T10:07:58</JAT_start_time>
        <master>MASTER</master>
        <slots>1</slots>
        <>
          <task-id>1.node01</task-id>
          <state>t</state>
          <cpu-usage>9.00000</cpu-usage>
        </>
      </job_list>
    </Queue-List>
    <Queue-List>
      <name>all.q@node02</name>
      <qtype>BIP</qtype>
      <slots_total>16</slots_total>
      <state>au</state>
    </Queue-List>
    <Queue-List>
      <name>long.q@node03</name>
      <job_list state="running">
        <JB_job_number>11</JB_job_number>
        <JB_name>tight</JB_name>
        <JB_owner>carol</JB_owner>
        <state>r</state>
        <master>SLAVE</master>
        <slots>1</slots>
        <task-id>1.node03</task-id>
        <state>t</state>
      </job_list>
    </Queue-List>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <JB_job_number>12</JB_job_number>
      <JB_name>waits</JB_name>
      <JB_owner>carol</JB_owner>
      <state>qw</state>
      <JB_submission_time>2026-11-21T10:00:00</JB_submission_time>
      <slots>1</slots>
    </job_list>
  </job_info>
</job_info>
`;

/** 6.0: no schema of its own, `1-12001` for the tasks, the name behind the state. */
export const list60 = `<?xml version='1.0'?>
<job_info  xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <queue_info>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <state>qw</state>
      <JB_job_number>9</JB_job_number>
      <JB_owner>dave</JB_owner>
      <JB_name>old</JB_name>
      <JAT_prio>0.00000</JAT_prio>
      <JB_submission_time>2006-03-01T09:30:15</JB_submission_time>
      <queue_name></queue_name>
      <slots>1</slots>
      <tasks>1-12001</tasks>
    </job_list>
  </job_info>
</job_info>
`;

export const empty62 = `<?xml version='1.0'?>
<job_info  xmlns:xsd="${sunsource}">
  <queue_info>
  </queue_info>
  <job_info>
  </job_info>
</job_info>
`;

/** Univa 8.6: more tags, milliseconds in the times. */
export const listUniva = `<?xml version='1.0'?>
<job_info  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.univa.com/qstat qstat.xsd">
  <queue_info>
    <job_list state="running">
      <JB_job_number>500</JB_job_number>
      <JAT_prio>0.05000</JAT_prio>
      <JB_name>u</JB_name>
      <JB_owner>erin</JB_owner>
      <state>r</state>
      <JAT_start_time>2020-02-29T23:59:59.230</JAT_start_time>
      <queue_name>q@h</queue_name>
      <jclass_name></jclass_name>
      <slots>1</slots>
      <full_job_name>u</full_job_name>
    </job_list>
  </queue_info>
  <job_info>
  </job_info>
</job_info>
`;

/** OCS 9.1: microseconds, `JAT_submission_time`, requests by scope. */
export const listOcsXml = `<?xml version='1.0'?>
<job_info  xmlns:xsd="${ocs}">
  <queue_info>
    <job_list state="running">
      <JB_job_number>4</JB_job_number>
      <JAT_prio>0.55500</JAT_prio>
      <JB_name>sleep</JB_name>
      <JB_owner>root</JB_owner>
      <state>r</state>
      <JAT_start_time>2024-06-28T11:59:43.834192</JAT_start_time>
      <queue_name>all.q@master</queue_name>
      <slots>1</slots>
      <tasks>34</tasks>
      <full_job_name>sleep</full_job_name>
      <master_hard_request name="h_vmem" resource_contribution="0.00000">4G</master_hard_request>
      <slave_hard_request name="h_vmem" resource_contribution="0.00000">1G</slave_hard_request>
    </job_list>
  </queue_info>
  <job_info>
    <job_list state="pending">
      <JB_job_number>5</JB_job_number>
      <JB_name>p</JB_name>
      <JB_owner>root</JB_owner>
      <state>qw</state>
      <JAT_submission_time>2024-06-28T11:59:40.000001</JAT_submission_time>
      <slots>1</slots>
    </job_list>
  </job_info>
</job_info>
`;
