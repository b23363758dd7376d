# A control group of its own for the job, where the site wants one (`cgroup` of hook.conf). Sourced by the hooks.
#
# The job is a child of the shepherd, and a process is born in its parent's group: so it is the shepherd that is moved,
# by the prolog, before the job exists. Moving the job's first process when it appears would miss its first moments, and
# children that it has by then would stay behind. The shepherd is counted with the job from then on: its pages stay
# charged to where they were, so that is less than 1 MiB. The prolog's own processes, and the sampler that they start,
# were born before and are not in the group. The sampler removes it after its last reading and puts what is still in it
# back into the shepherd's former group; if it can't, the next sampler or flush on this host does
# (src/sampler/job/job-cgroups.ts).
#
# The job comes first:
#  - No limit is ever set on the group, and memory.oom.group stays 0: nothing changes for the OOM killer.
#  - A shepherd that is under a limit which it would leave behind (memory, CPU quota, CPUs, I/O) stays where it is.
# In v2, pids.max, which systemd sets for every service, and programs attached to a group (DeviceAllow) are not looked
#     at.
#  - Controllers that divide a resource by groups are left alone: cpu always (CPU time of a v2 group is counted
#    without; in v1 cpuacct is used only where it is not mounted together with cpu), io and blkio where a disk has the
#    scheduler bfq or cfq, or io.cost is on.
# - If execd's unit has systemd's default KillMode, stopping or restarting it ends everything in its group: jobs in
# groups    of ours live on, as they do without systemd, and execd finds them again when it starts.
#  - The group is at the top of the hierarchy, not in /qmemacct with the samplers: in v2 a group with sub-groups that are
#    counted can't have processes.

qm_groups=qmemacct-jobs
qm_line_feed='
'

# Whether Grid Engine itself starts this job in a scope of systemd. (A line forged into config by the job's owner could
# only cost him his own figures.)
qm_has_scope() {
  while IFS='=' read -r qm_word qm_value; do
    case $qm_word=$qm_value in
    *=0 | *=[fFnN]* | *=) ;;
    use_systemd=* | enable_systemd=*) return 0 ;;
    esac
  done 2>/dev/null <"$qm_spool/config"
  return 1
}

# Sets qm_problem when the shepherd's v2 group, or one above it, has a limit.
qm_find_limits() {
  if [ "$qm_path" = / ]; then
    # At the top, each process gets as much CPU time as a whole group beside it.
    read -r qm_line <"$qm_top/cgroup.subtree_control"
    case " $qm_line " in
    *' cpu '*) qm_problem='the shepherd is at the top, where it would lose CPU time as a member of a group' ;;
    esac
  fi
  qm_at=$qm_path
  while [ "${#qm_at}" -gt 1 ]; do
    for qm_file in memory.max memory.high memory.swap.max memory.zswap.max cpu.max cpuset.cpus io.max; do
      qm_value=
      { read -r qm_value qm_rest <"$qm_top$qm_at/$qm_file"; } 2>/dev/null
      case $qm_value in
      '' | max) ;;
      *)
        qm_problem="$qm_at has a limit ($qm_file) that the job would leave"
        return
        ;;
      esac
    done
    qm_at=${qm_at%/*}
  done
}

# The same for v1's memory hierarchy, whose memory.stat has the limits of all groups above, too.
qm_find_memory_limit() {
  while read -r qm_word qm_value; do
    case $qm_word in
    hierarchical_mem*_limit) ;;
    *) continue ;;
    esac
    # No limit: LONG_MAX in whole pages.
    case $qm_value in
    92233720368547*) ;;
    *)
      qm_problem="$qm_path has a limit ($qm_word) that the job would leave"
      return
      ;;
    esac
  done 2>/dev/null <"$qm_top$qm_path/memory.stat"
}

# Whether no group of the shepherd's pids hierarchy (v1) has a limit.
qm_pids_are_free() {
  qm_at=$qm_path
  while [ "${#qm_at}" -gt 1 ]; do
    qm_value=
    { read -r qm_value <"$qm_top$qm_at/pids.max"; } 2>/dev/null
    [ "$qm_value" = max ] || return 1
    qm_at=${qm_at%/*}
  done
}

# Whether every disk has a scheduler that takes no notice of groups.
qm_io_is_neutral() {
  for qm_file in "$qm_sys"/block/*/queue/scheduler; do
    qm_value=
    { read -r qm_value <"$qm_file"; } 2>/dev/null
    case $qm_value in
    *'[bfq]'* | *'[cfq]'*) return 1 ;;
    esac
  done
  while read -r qm_value; do
    case $qm_value in
    *enable=1*) return 1 ;;
    esac
  done 2>/dev/null <"$qm_top/io.cost.qos"
  return 0
}

# qm_switch_on CONTROLLER DIRECTORY: switches the controller on for the groups in DIRECTORY.
qm_switch_on() {
  qm_line=
  { read -r qm_line <"$2/cgroup.subtree_control"; } 2>/dev/null
  case " $qm_line " in
  *" $1 "*) return 0 ;;
  esac
  { echo "+$1" >"$2/cgroup.subtree_control"; } 2>/dev/null
}

# Makes the group in one of the shepherd's hierarchies if that does no harm. Sets qm_problem if it would.
qm_make_group() {
  qm_hierarchy=$qm_names
  qm_top=$qm_root/$qm_names
  case $qm_names in
  '')
    qm_hierarchy=unified
    qm_top=$qm_root
    [ -e "$qm_top/cgroup.controllers" ] || qm_top=$qm_root/unified
    read -r qm_line <"$qm_top/cgroup.controllers" || return 0
    # If v1 counts memory, v2, which is mounted beside it, does not.
    case " $qm_line " in
    *' memory '*) ;;
    *) return 0 ;;
    esac
    qm_find_limits
    ;;
  memory) qm_find_memory_limit ;;
  cpuacct) ;;
  blkio) [ -d "$qm_top" ] && qm_io_is_neutral || return 0 ;;
  pids)
    [ -d "$qm_top/$qm_groups" ] || mkdir "$qm_top/$qm_groups" 2>/dev/null
    # If the kernel keeps no maximum of the count, it is not worth a move.
    [ -e "$qm_top/$qm_groups/pids.peak" ] && qm_pids_are_free || return 0
    ;;
  *) return 0 ;;
  esac
  [ -z "$qm_problem" ] && [ -d "$qm_top" ] || return 0
  case $qm_path in
  */..*) return 0 ;;
  esac
  [ -d "$qm_top/$qm_groups" ] || mkdir "$qm_top/$qm_groups" 2>/dev/null
  if [ "$qm_hierarchy" = unified ]; then
    for qm_controller in memory pids io; do
      [ "$qm_controller" != io ] || qm_io_is_neutral || continue
      qm_switch_on "$qm_controller" "$qm_top" && qm_switch_on "$qm_controller" "$qm_top/$qm_groups" && continue
      [ "$qm_controller" = memory ] || continue
      qm_problem="memory can't be counted by groups below $qm_top"
      return 0
    done
  fi
  if ! mkdir "$qm_top/$qm_groups/$qm_key" 2>/dev/null; then
    qm_problem="$qm_top/$qm_groups/$qm_key could not be made"
    return 0
  fi
  qm_made="$qm_made $qm_top"
  qm_from="${qm_from}from_$qm_hierarchy=$qm_path$qm_line_feed"
  case $qm_hierarchy in
  unified | memory) qm_counts_memory=1 ;;
  esac
}

# Moves the shepherd into a group of this run, in every hierarchy where that does no harm. The run directory's `cgroup`
# says what was done; it is written first, so that nobody is moved without a way back.
qm_enter_cgroup() {
  case ${cgroup:-off} in
  own) ;;
  auto) qm_has_scope && return ;;
  *) return ;;
  esac
  [ "$qm_hooks" = root ] && [ -n "$qm_dir" ] || return
  qm_root=${cgroup_root:-/sys/fs/cgroup}
  qm_sys=${sys_root:-/sys}
  qm_problem= qm_made= qm_from= qm_counts_memory=
  while IFS=: read -r qm_rest qm_names qm_path; do
    qm_make_group
    [ -z "$qm_problem" ] || break
  done <"/proc/$PPID/cgroup"
  [ -n "$qm_counts_memory$qm_problem" ] || qm_problem='no hierarchy that counts memory'
  printf '%s' "version=1${qm_line_feed}problem=$qm_problem$qm_line_feed${qm_from}end=1$qm_line_feed" >"$qm_dir/cgroup" ||
    qm_problem=unwritten
  # These are directories of the system: their names have no blanks.
  for qm_top in $qm_made; do
    qm_group=$qm_top/$qm_groups/$qm_key
    if [ -n "$qm_problem" ]; then
      rmdir "$qm_group" 2>/dev/null
    elif ! { echo "$PPID" >"$qm_group/cgroup.procs"; } 2>/dev/null; then
      echo "problem=$qm_group did not take the shepherd" >>"$qm_dir/cgroup"
    fi
  done
}

# qm_leave_cgroup PID...: moves processes back to where the shepherd came from, so that nothing but the job is charged
# to the job's group; if that place has gone, to our own group, which has no limits.
qm_leave_cgroup() {
  [ -n "$qm_dir" ] && [ -e "$qm_dir/cgroup" ] || return
  qm_root=${cgroup_root:-/sys/fs/cgroup}
  while IFS='=' read -r qm_word qm_path; do
    case $qm_word in
    from_unified)
      qm_top=$qm_root
      [ -e "$qm_top/cgroup.controllers" ] || qm_top=$qm_root/unified
      ;;
    from_*) qm_top=$qm_root/${qm_word#from_} ;;
    *) continue ;;
    esac
    for qm_pid in "$@"; do
      { echo "$qm_pid" >"$qm_top$qm_path/cgroup.procs"; } 2>/dev/null && continue
      [ -d "$qm_top/qmemacct" ] || mkdir "$qm_top/qmemacct" 2>/dev/null
      { echo "$qm_pid" >"$qm_top/qmemacct/cgroup.procs"; } 2>/dev/null
    done
  done <"$qm_dir/cgroup"
}
