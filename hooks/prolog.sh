#!/bin/sh -p
# Prolog of Grid Engine: starts the sampler of this job, then becomes the site's own prolog if there is one.
#   prolog  root@/usr/bin/env -i /bin/sh -p DIR/prolog.sh $job_id $ja_task_id [-- SITE-HOOK]
# `qmemacct install` writes this line. Exits with 0, or as SITE-HOOK does; with 100 if the user of SITE-HOOK is not
# certain.

# Even if the shell itself gives up (no more processes, a missing file), the job must not be harmed.
trap 'exit 0' EXIT
. "${0%/*}/common.sh"
. "${0%/*}/cgroup.sh"

qm_prolog() {
  qm_begin "$1" "$2" || return
  [ -z "$qm_dir" ] || return
  qm_lift
  qm_choose_memory
  qm_make_dir
  # The service takes up any run directory that it finds, whatever the job's limits.
  qm_served=
  [ "$qm_hooks" = root ] && [ -n "$qm_dir" ] && qm_service && qm_served=1
  if [ -z "$qm_served" ] && [ "$qm_memory" != none ]; then
    (
      qm_describe qm_node main.js "$settings" "${qm_dir:--}" "cluster=${cluster:-}" "state_dir=$state" "run_dir=$run"
    ) &
    [ -n "$qm_dir" ] && echo "$!" >"$qm_dir/starting"
  fi
  # Done while Node starts; also without a sampler, since the recovery of this run can still read the group's peak.
  [ "${cgroup:-off}" = off ] || qm_enter_cgroup
  [ "$qm_memory" = none ] && [ -z "$qm_served" ] && return
  if [ "$arm_wait" != 0 ] && [ -n "$qm_dir" ]; then
    # The service is running already: it needs no longer than this.
    [ -z "$qm_served" ] || [ "${arm_wait#0.0[0-4]}" != "$arm_wait" ] || arm_wait=0.05
    timeout "$arm_wait" sh -c 'read -r word <>"$1"' sh "$qm_dir/armed"
  fi
}

case ${1:-x}${2:-x} in
*[!0-9]*) ;;
*) [ -e /etc/qmemacct/disabled ] || qm_bounded 2 qm_prolog "$1" "$2" ;;
esac

if [ "${3:-}" = -- ] && [ $# -gt 3 ]; then
  shift 3
  qm_chain "$@"
fi
exit 0
