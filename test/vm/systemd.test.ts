import assert from 'node:assert/strict';
import * as path from 'node:path';
import { parseRecord, type JobRecord } from '../../src/record/record';
import { burner } from '../burners/build';
import { cellTest, ourHook, shellQuoted } from './cell';
import { repositoryRoot } from './repository';

const MIB = 1024 * 1024;

/**
 * Does as root, beside a shepherd of 8.1.9, what Open Cluster Scheduler's shepherd does with ENABLE_SYSTEMD (its source:
 * daemons/shepherd/ocs_shepherd_systemd.cc): `config` names a scope with MemoryMax, to which the job's first process is
 * moved after its fork; the unit is frozen while the job is suspended, and stopped after SIGKILL to the process group.
 */
const script = (steady: string): string => `
  qmemacct() { node ${shellQuoted(path.join(repositoryRoot(), 'bin', 'qmemacct'))} "$@"; }
  mkdir -p /etc/qmemacct
  echo 'delivery_jitter_ms = 0' >/etc/qmemacct/qmemacct.toml
  qmemacct install --node --yes --prefix /opt/qmemacct >"$VM_OUT/install" 2>&1 || { cat "$VM_OUT/install"; exit 1; }
  active=/var/spool/gridengine/execd/vmhost/active_jobs
  cat >/opt/prolog.sh <<'END'
#!/bin/sh
sed -i "/^use_login_shell=/a enable_systemd=1\\nsystemd_slice=ocs6444-jobs.slice\\nsystemd_scope=ocs6444.$1.scope" /var/spool/gridengine/execd/vmhost/active_jobs/$1.1/config
exec /bin/sh -p /opt/qmemacct/current/hooks/prolog.sh "$@"
END
  cat >/home/gealice/in-scope <<'END'
#!/bin/sh
until grep -q '[.]scope$' /proc/self/cgroup; do sleep 0.1; done
exec "$@"
END
  chmod 755 /opt/prolog.sh /home/gealice/in-scope
  submit() { cell_submit -l h_vmem=1G -b y -shell n /home/gealice/in-scope "$@"; }
  sampler_of() { # JOB: pid of its sampler, once that has started
    cell_until 120 sh -c "grep -qs pid= /var/lib/qmemacct/run/$1.0.*/pid"
    sed -n 's/^pid=//p' /var/lib/qmemacct/run/$1.0.*/pid
  }
  to_scope() { # JOB BYTES
    sampler_of "$1" >/dev/null
    cell_until 60 test -s "$active/$1.1/job_pid"
    sleep 5 # The sampler has looked at the process by then.
    busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartTransientUnit \\
      'ssa(sv)a(sa(sv))' "ocs6444.$1.scope" fail 5 PIDs au 1 "$(cat "$active/$1.1/job_pid")" \\
      Slice s ocs6444-jobs.slice CPUAccounting b true MemoryAccounting b true MemoryMax t "$2" 0 >/dev/null
  }

  whole=$(submit ${steady} --mib=120 --hold=60000)
  full=$(submit /bin/sh -c 'sleep 10; ${steady} --mib=200 --hold=3000; sleep 8; exit 7')
  stopped=$(submit /bin/sleep 600)
  to_scope "$whole" 1073741824
  fact sampler "$(cat "/proc/$(sampler_of "$whole")/cgroup")"
  fact job "$(cat "/proc/$(cat "$active/$whole.1/job_pid")/cgroup")"
  systemctl freeze "ocs6444.$whole.scope"
  sleep 40 # At least a sample: the machine is slow.
  systemctl thaw "ocs6444.$whole.scope"
  to_scope "$full" 83886080
  to_scope "$stopped" 1073741824
  kill -KILL "-$(cat "$active/$stopped.1/job_pid")"
  busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StopUnit \\
    ss "ocs6444.$stopped.scope" replace >/dev/null
  for job in $whole $full $stopped; do cell_wait "$job" 120; done
  fact exit "$(for job in $full $stopped; do cell_field "$job" exit_status | cut -d " " -f 1; done | tr '\\n' ' ')"

  left=$(submit /bin/sleep 20)
  to_scope "$left" 1073741824
  sampler=$(sampler_of "$left")
  systemctl stop ocs6444-execd
  fact shepherds "$(grep -l sge_shepherd /proc/[0-9]*/comm | wc -l)"
  fact survivor "$(cat "/proc/$sampler/cgroup")"
  gone() { ! [ -d "/proc/$sampler" ]; }
  cell_until 120 gone

  qmemacct import $SGE_ROOT/$SGE_CELL/common/accounting >"$VM_OUT/import" 2>&1 || cat "$VM_OUT/import"
  qmemacct flush >/dev/null 2>&1
  known() { qmemacct job "$1" >/dev/null 2>&1; }
  cell_until 120 known "$left"
  for job in $whole $full $stopped $left; do fact "record.$job" "$(qmemacct --json job $job | tr -d '\\n')"; done
  fact retry "$(qmemacct --json job --retry $full)"
  fact jobs "$whole $full $stopped $left"`;

cellTest(
  "jobs in scopes of systemd, as with Open Cluster Scheduler, get their cgroup's figures and keep their samplers",
  () => script(burner('steady')),
  {
    systemd: true,
    prolog: 'root@/usr/bin/env -i /opt/prolog.sh $job_id $ja_task_id',
    epilog: ourHook('epilog'),
  },
  ({ fact }) => {
    const jobs = fact('jobs').split(' ');
    const recordOf = (index: number): JobRecord => {
      const { records } = JSON.parse(fact(`record.${jobs[index] ?? ''}`)) as { readonly records: readonly unknown[] };
      assert.equal(records.length, 1, JSON.stringify(records));
      const record = parseRecord(records[0]);
      return record.ok ? record.value : assert.fail(record.error);
    };

    assert.equal(fact('sampler'), '0::/qmemacct');
    assert.equal(fact('job'), `0::/ocs6444.slice/ocs6444-jobs.slice/ocs6444.${jobs[0] ?? ''}.scope`);
    const footprint = recordOf(0).peak_footprint;
    // systemd removes the scope before it can be read for the last time.
    assert.deepEqual([footprint?.sources, footprint?.proved, footprint?.upper_bytes], [['cgroup'], false, null]);
    assert.ok(
      (footprint?.lower_bytes ?? 0) > 0 && (footprint?.lower_bytes ?? 0) < 128 * MIB,
      JSON.stringify(footprint),
    );
    assert.equal(recordOf(0).metrics.cgroup_oom_kills ?? 0, 0);
    // Frozen for 40 s, as by qmod -sj.
    const suspended = recordOf(0).suspended_seconds ?? 0;
    assert.ok(suspended > 0 && suspended <= 80, String(suspended));

    // systemd stops a scope in which the kernel killed a process before the group's count can be read; the kernel log has it.
    const [full, stopped] = fact('exit').trim().split(' ');
    assert.notEqual(full, '0');
    assert.ok((recordOf(1).metrics.taskstats_cgroup_oom_kills ?? 0) > 0, JSON.stringify(recordOf(1).metrics));
    assert.match(fact('retry'), /"ended_by_memory":true.*out-of-memory killer, for a full cgroup/);
    assert.equal(stopped, '137');
    assert.equal(recordOf(2).signal, 9);

    // The end of execd's service ends the shepherd too; sampler and record stay.
    assert.equal(fact('shepherds'), '0');
    assert.equal(fact('survivor'), '0::/qmemacct');
    assert.equal(recordOf(3).status, 'lost');
  },
);
