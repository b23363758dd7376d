/** Answers of qhost as the dialects print them, shortened. */

const s = 'http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qhost/qhost.xsd';
const sunsource =
  'http://gridengine.sunsource.net/source/browse/*checkout*/gridengine/source/dist/util/resources/schemas/qhost/qhost.xsd?revision=1.2';
const ocs =
  'https://github.com/hpc-gridware/clusterscheduler/raw/master/source/dist/util/resources/schemas/qhost/qhost.xsd';

const globalHost = ` <host name='global'>
   <hostvalue name='arch_string'>-</hostvalue>
   <hostvalue name='num_proc'>-</hostvalue>
   <hostvalue name='load_avg'>-</hostvalue>
   <hostvalue name='mem_total'>-</hostvalue>
   <hostvalue name='mem_used'>-</hostvalue>
   <hostvalue name='swap_total'>-</hostvalue>
   <hostvalue name='swap_used'>-</hostvalue>
   <resourcevalue name='licence' dominance='gc'>3.000000</resourcevalue>
 </host>
`;

/** `qhost -F h_vmem -q -j -xml` of 8.1.9: a parallel job over two slots with a master of its own, an array task, a down host. */
export const qhost819 = `<?xml version='1.0'?>
<qhost xmlns:xsd="${s}">
${globalHost} <host name='node01'>
   <hostvalue name='arch_string'>lx-amd64</hostvalue>
   <hostvalue name='num_proc'>16</hostvalue>
   <hostvalue name='m_socket'>2</hostvalue>
   <hostvalue name='m_core'>8</hostvalue>
   <hostvalue name='m_thread'>16</hostvalue>
   <hostvalue name='load_avg'>3.07</hostvalue>
   <hostvalue name='mem_total'>93.1G</hostvalue>
   <hostvalue name='mem_used'>984.1M</hostvalue>
   <hostvalue name='swap_total'>1.0T</hostvalue>
   <hostvalue name='swap_used'>0.0</hostvalue>
   <resourcevalue name='h_vmem' dominance='hc'>12.000G</resourcevalue>
   <resourcevalue name='arch' dominance='hl'>lx-amd64</resourcevalue>
 <queue name='all.q'>
   <queuevalue qname='all.q' name='qtype_string'>BIP</queuevalue>
   <queuevalue qname='all.q' name='slots_used'>3</queuevalue>
   <queuevalue qname='all.q' name='slots'>16</queuevalue>
   <queuevalue qname='all.q' name='slots_resv'>0</queuevalue>
   <queuevalue qname='all.q' name='state_string'></queuevalue>
 </queue>
 <job name='103'>
   <jobvalue jobid='103' name='priority'>'0.555000'</jobvalue>
   <jobvalue jobid='103' name='qinstance_name'>all.q@node01</jobvalue>
   <jobvalue jobid='103' name='job_name'>weird%lt;&amp;&quot;&gt;x</jobvalue>
   <jobvalue jobid='103' name='job_owner'>bob</jobvalue>
   <jobvalue jobid='103' name='job_state'>r</jobvalue>
   <jobvalue jobid='103' name='start_time'>1795248478</jobvalue>
   <jobvalue jobid='103' name='pe_master'>MASTER</jobvalue>
 </job>
 <job name='103'>
   <jobvalue jobid='103' name='priority'>'0.555000'</jobvalue>
   <jobvalue jobid='103' name='qinstance_name'>all.q@node01</jobvalue>
   <jobvalue jobid='103' name='job_name'>weird%lt;&amp;&quot;&gt;x</jobvalue>
   <jobvalue jobid='103' name='job_owner'>bob</jobvalue>
   <jobvalue jobid='103' name='job_state'>r</jobvalue>
   <jobvalue jobid='103' name='start_time'>1795248478</jobvalue>
   <jobvalue jobid='103' name='pe_master'>SLAVE</jobvalue>
 </job>
 <queue name='long.q'>
   <queuevalue qname='long.q' name='qtype_string'>B</queuevalue>
   <queuevalue qname='long.q' name='slots_used'>1</queuevalue>
   <queuevalue qname='long.q' name='slots'>4</queuevalue>
   <queuevalue qname='long.q' name='slots_resv'>2</queuevalue>
   <queuevalue qname='long.q' name='state_string'>dE</queuevalue>
 </queue>
 <job name='102'>
   <jobvalue jobid='102' name='priority'>'0.005689'</jobvalue>
   <jobvalue jobid='102' name='job_name'>arr</jobvalue>
   <jobvalue jobid='102' name='job_owner'>alice</jobvalue>
   <jobvalue jobid='102' name='job_state'>dr</jobvalue>
   <jobvalue jobid='102' name='start_time'>1795248400</jobvalue>
   <jobvalue jobid='102' name='pe_master'>MASTER</jobvalue>
   <jobvalue jobid='102' name='taskid'>3</jobvalue>
 </job>
 </host>
 <host name='node02'>
   <hostvalue name='arch_string'>-</hostvalue>
   <hostvalue name='num_proc'>-</hostvalue>
   <hostvalue name='m_socket'>-</hostvalue>
   <hostvalue name='m_core'>-</hostvalue>
   <hostvalue name='m_thread'>-</hostvalue>
   <hostvalue name='load_avg'>-</hostvalue>
   <hostvalue name='mem_total'>-</hostvalue>
   <hostvalue name='mem_used'>-</hostvalue>
   <hostvalue name='swap_total'>-</hostvalue>
   <hostvalue name='swap_used'>-</hostvalue>
 </host>
</qhost>
`;

/** `qhost -j -xml` of 6.2u5: no topology, the queue in each job. */
export const qhost62 = `<?xml version='1.0'?>
<qhost xmlns:xsd="${sunsource}">
${globalHost} <host name='n1.example.org'>
   <hostvalue name='arch_string'>lx24-amd64</hostvalue>
   <hostvalue name='num_proc'>12</hostvalue>
   <hostvalue name='load_avg'>0.02</hostvalue>
   <hostvalue name='mem_total'>47.2G</hostvalue>
   <hostvalue name='mem_used'>892.5M</hostvalue>
   <hostvalue name='swap_total'>0.0</hostvalue>
   <hostvalue name='swap_used'>0.0</hostvalue>
 <job name='353538'>
   <jobvalue jobid='353538' name='priority'>'0.005689'</jobvalue>
   <jobvalue jobid='353538' name='qinstance_name'>grace@n1.example.org</jobvalue>
   <jobvalue jobid='353538' name='job_name'>sim</jobvalue>
   <jobvalue jobid='353538' name='job_owner'>carol</jobvalue>
   <jobvalue jobid='353538' name='job_state'>r</jobvalue>
   <jobvalue jobid='353538' name='start_time'>1322585173</jobvalue>
   <jobvalue jobid='353538' name='queue_name'>grace@n1.example.org</jobvalue>
   <jobvalue jobid='353538' name='pe_master'>SLAVE</jobvalue>
 </job>
 </host>
</qhost>
`;

/** `qhost -xml` of Univa 8.6: `np_load_avg`, the load of one processor, in the place of `load_avg`. */
export const qhostUniva = `<?xml version='1.0'?>
<qhost xmlns:xsd="https://github.com/gridengine/gridengine/raw/master/source/dist/util/resources/schemas/qhost/qhost.xsd">
${globalHost.replace('load_avg', 'np_load_avg')} <host name='node01'>
   <hostvalue name='arch_string'>lx-amd64</hostvalue>
   <hostvalue name='num_proc'>32</hostvalue>
   <hostvalue name='m_socket'>2</hostvalue>
   <hostvalue name='m_core'>16</hostvalue>
   <hostvalue name='m_thread'>32</hostvalue>
   <hostvalue name='np_load_avg'>0.57</hostvalue>
   <hostvalue name='mem_total'>125.9G</hostvalue>
   <hostvalue name='mem_used'>3.1G</hostvalue>
   <hostvalue name='swap_total'>56.0G</hostvalue>
   <hostvalue name='swap_used'>101.6M</hostvalue>
 </host>
 <host name='node02'>
   <hostvalue name='arch_string'>-</hostvalue>
   <hostvalue name='num_proc'>-</hostvalue>
   <hostvalue name='np_load_avg'>-</hostvalue>
   <hostvalue name='mem_total'>-</hostvalue>
 </host>
</qhost>
`;

/** The jobs of `qhost -j -xml` of OCS 9.2: microseconds, and the start only in the first row of a task. */
export const qhostOcsXml = `<?xml version='1.0'?>
<qhost xmlns:xsd="${ocs}">
   <host name='node01'>
      <hostvalue name='arch_string'>lx-amd64</hostvalue>
      <hostvalue name='mem_total'>62.8G</hostvalue>
      <job name='7'>
         <jobvalue jobid='7' name='priority'>0.555000</jobvalue>
         <jobvalue jobid='7' name='qinstance_name'>all.q@node01</jobvalue>
         <jobvalue jobid='7' name='job_name'>a&lt;b%lt;</jobvalue>
         <jobvalue jobid='7' name='job_owner'>bob</jobvalue>
         <jobvalue jobid='7' name='job_state'>r</jobvalue>
         <jobvalue jobid='7' name='start_time'>1795248478123456</jobvalue>
         <jobvalue jobid='7' name='queue_name'>all.q@node01</jobvalue>
         <jobvalue jobid='7' name='pe_master'>MASTER</jobvalue>
      </job>
      <job name='7'>
         <jobvalue jobid='7' name='priority'>0.555000</jobvalue>
         <jobvalue jobid='7' name='qinstance_name'>all.q@node01</jobvalue>
         <jobvalue jobid='7' name='job_name'>a&lt;b%lt;</jobvalue>
         <jobvalue jobid='7' name='job_owner'>bob</jobvalue>
         <jobvalue jobid='7' name='job_state'>r</jobvalue>
         <jobvalue jobid='7' name='queue_name'>all.q@node01</jobvalue>
         <jobvalue jobid='7' name='pe_master'>SLAVE</jobvalue>
      </job>
   </host>
</qhost>
`;
