import assert from 'node:assert/strict';
import { parseRecord, type JobRecord } from '../../src/record/record';
import * as path from 'node:path';
import { burner } from '../burners/build';
import { cellTest, ourHook, shellQuoted } from './cell';
import { repositoryRoot } from './repository';
import { assertRules, endWithSwap, RULE_DISKS, startReaders } from './rule-jobs';

const MIB = 1024 * 1024;

/** Runs a job that is left alone, one whose sampler is killed, one that meets the OOM killer, and the jobs for rules. */
const script = (steady: string, cpu: string): string => `
  qmemacct() { node ${shellQuoted(path.join(repositoryRoot(), 'bin', 'qmemacct'))} "$@"; }
  mkdir -p /etc/qmemacct
  printf 'cgroup = "own"\\ndelivery_jitter_ms = 0\\n' >/etc/qmemacct/qmemacct.toml
  qmemacct install --node --yes --prefix /opt/qmemacct >"$VM_OUT/install" 2>&1 || { cat "$VM_OUT/install"; exit 1; }
  groups=/sys/fs/cgroup/qmemacct-jobs
  group_of() { # JOB: its group, once its first process is in it
    tries=0
    until set -- "$1" $groups/$1.0.* && grep -q . "$2/cgroup.procs" && grep -q . /var/spool/gridengine/execd/vmhost/active_jobs/$1.1/job_pid; do
      tries=$((tries + 1))
      [ "$tries" -lt 200 ] || return
      sleep 0.2
    done 2>/dev/null
    echo "$2"
  }
  names_in() { for pid in $(cat "$1/cgroup.procs"); do cat "/proc/$pid/comm"; done | sort | tr '\\n' ' '; }
  sampler_of() { # GROUP: pid of its job's sampler, once that has started
    cell_until 120 test -s "/var/lib/qmemacct/run/\${1##*/}/pid"
    sed -n 's/^pid=//p' "/var/lib/qmemacct/run/\${1##*/}/pid"
  }

  ${startReaders(cpu)}
  left_alone=$(cell_submit -l h_vmem=1G -b y -shell n ${steady} --mib=120 --hold=20000)
  group=$(group_of "$left_alone")
  sleep 4
  fact controllers "$(cat $groups/cgroup.subtree_control)"
  fact names "$(names_in "$group")"
  fact peak "$(cat "$group/memory.peak")"
  fact limit "$(cat "$group/memory.max")"
  fact sampler "$(cat "/proc/$(sampler_of "$group")/cgroup")"
  fact note "$(tr '\\n' ' ' <"/var/lib/qmemacct/run/\${group##*/}/cgroup")"

  killed=$(cell_submit -l h_vmem=1G -b y -shell n /bin/sleep 20)
  group=$(group_of "$killed")
  sleep 3
  kill -9 "$(sampler_of "$group")"

  cell_wait "$left_alone" 120
  cell_wait "$killed" 120

  oom=$(cell_submit -l h_vmem=1G -b y -shell n /bin/sh -c 'sleep 6; ${steady} --mib=200 --hold=3000; sleep 5; exit 7')
  group=$(group_of "$oom")
  echo 83886080 >"$group/memory.max"
  tries=0
  until grep -q '^oom_kill [1-9]' "$group/memory.events" || [ $tries -gt 150 ]; do
    tries=$((tries + 1))
    sleep 0.2
  done
  fact oom_kill "$(sed -n 's/^oom_kill //p' "$group/memory.events")"
  fact after_oom "$(names_in "$group")"
  fact oom_peak "$(cat "$group/memory.peak")"
  cell_wait "$oom" 120
  fact oom.exit "$(cell_field "$oom" exit_status)"
  ${endWithSwap(steady)}

  cell_until 60 sh -c 'cd /var/lib/qmemacct/run && [ "$(ls | wc -l)" = 0 ]'
  no_groups() {
    qmemacct flush >/dev/null 2>&1
    [ -z "$(ls -d $groups/[0-9]* 2>/dev/null)" ]
  }
  cell_until 120 no_groups
  fact groups "$(ls -d $groups/[0-9]* 2>/dev/null | wc -l)"
  for name in left_alone killed oom waits reads swaps; do
    eval "job=\\$$name"
    fact "failed.$name" "$(cell_field "$job" failed)"
    fact "job.$name" "$(qmemacct --json job $job | tr -d '\\n')"
  done
  fact execd "$(for pid in $(cat /sys/fs/cgroup/system.slice/gridengine-exec.service/cgroup.procs); do cat /proc/$pid/comm; done | tr '\\n' ' ')"
  cell_problems || true`;

const options = { disks: RULE_DISKS, prolog: ourHook('prolog'), epilog: ourHook('epilog') };
const ofBurners = (): string => script(burner('steady'), burner('cpu'));

cellTest(
  'the prolog makes a cgroup v2 for each job, from which its record is made',
  ofBurners,
  options,
  ({ facts: found, fact }, t) => {
    t.diagnostic(JSON.stringify(Object.fromEntries(found)));

    assert.deepEqual(fact('controllers').split(' ').sort(), ['io', 'memory', 'pids']);
    assert.equal(fact('names').trim(), 'sge_shepherd steady');
    assert.equal(fact('limit'), 'max');
    assert.equal(fact('sampler'), '0::/qmemacct');
    assert.match(fact('note'), /problem= from_unified=\/system\.slice\/gridengine-exec\.service end=1/);
    // More than 120 MiB: libraries, page tables, and what the shepherd has touched since it was moved.
    const peak = Number(fact('peak'));
    assert.ok(peak >= 120 * MIB && peak < 132 * MIB, `${peak} bytes`);

    assert.equal(fact('oom_kill'), '1');
    assert.match(fact('after_oom'), /sge_shepherd/);
    assert.ok(Number(fact('oom_peak')) <= 80 * MIB);
    assert.equal(fact('oom.exit'), '7');

    for (const [name, value] of found) if (name.startsWith('failed.')) assert.equal(value, '0', name);
    assert.equal(fact('groups'), '0');
    assert.match(fact('execd'), /sge_execd/);

    const recordOf = (name: string): JobRecord => {
      const { records } = JSON.parse(fact(`job.${name}`)) as { readonly records: readonly unknown[] };
      const record = parseRecord(records[0]);
      return record.ok ? record.value : assert.fail(record.error);
    };
    const [alone, killed, oom] = [recordOf('left_alone'), recordOf('killed'), recordOf('oom')];
    // The kernel's peak of the group is the upper end; the shepherd's share is part of the slack.
    const footprint = alone.peak_footprint;
    assert.ok(footprint?.upper_bytes != null, JSON.stringify(footprint));
    assert.deepEqual([footprint.sources, footprint.proved, footprint.open], [['cgroup'], true, []]);
    assert.ok(footprint.lower_bytes <= 120 * MIB + 8 * MIB && footprint.lower_bytes >= 110 * MIB);
    assert.ok(footprint.upper_bytes >= 120 * MIB && footprint.upper_bytes < 136 * MIB);
    assert.equal(alone.metrics.cgroup_oom_kills, 0);
    assert.equal(oom.metrics.cgroup_oom_kills, 1);
    assert.deepEqual(
      [oom.metrics.cgroup_memory_limit_bytes, oom.notes.filter((note) => note.includes('OOM'))],
      [80 * MIB, []],
    );
    // Whether the sampler had saved samples before it was killed depends on the emulated machine's speed.
    const { status, exit_status, notes, peak_rss } = killed;
    assert.deepEqual([status, exit_status], ['finished', 0]);
    if (peak_rss === null) assert.match(notes.join(' '), /^Not sampled: /);
    else assert.ok(peak_rss.open.includes('sampler-lost'), peak_rss.open.join(' '));
    assertRules((name) => fact(`job.${name}`));
  },
);
