#!/bin/sh -p
# Epilog of Grid Engine: ends this job's sampler and waits, bounded, until the summary is on the disk; then
# becomes the site's own epilog if there is one.
#   epilog  root@/usr/bin/env -i /bin/sh -p DIR/epilog.sh $job_id $ja_task_id [-- SITE-HOOK]
# `qmemacct install` writes this line. Exits with 0, or as SITE-HOOK does: any other status would run the job again.

# Even if the shell itself gives up (no more processes, a missing file), the job must not be harmed.
trap 'exit 0' EXIT
. "${0%/*}/common.sh"
. "${0%/*}/cgroup.sh"

# Whether a sampler looks after qm_dir, or is just starting up.
qm_attended() {
  if [ -e "$qm_dir/pid" ]; then
    qm_lives "$qm_dir/pid"
    return
  fi
  # The service may not have come to this run yet.
  [ "$qm_hooks" = root ] && qm_service && return
  [ -e "$qm_dir/starting" ] && read -r qm_pid <"$qm_dir/starting" && [ -d "/proc/$qm_pid" ]
}

# Leaves copies of what Grid Engine knows, for the recovery of this run.
qm_plain_record() {
  if [ "$qm_hooks" = plain ]; then
    # Root reads these files; a half-written one is left under a name that root does not read. Everyone can write in
    # this directory, so the name can't be guessed, and whatever has the name already is neither followed nor
    # overwritten (-C).
    read -r qm_random </proc/sys/kernel/random/uuid || return
    qm_file=$state/outbox/$qm_job.$qm_task.$qm_random
    set -C
    {
      qm_describe printf '%s\n'
      echo ==config==
      head -c 40960 "$qm_spool/config"
      echo
      echo ==usage==
      head -c 8192 "$qm_spool/usage"
    } >"$qm_file.new" && mv -T "$qm_file.new" "$qm_file"
    [ -z "$qm_dir" ] || rm -rf "$qm_dir"
    return
  fi
  for qm_copies in "$qm_dir" "$run/run/$qm_key"; do
    [ -n "$qm_copies" ] || continue
    [ -d "$qm_copies" ] || mkdir -p "$qm_copies" || continue
    [ -s "$qm_copies/job" ] || qm_write_job "$qm_copies" || continue
    cat "$qm_spool/config" >"$qm_copies/config" || continue
    [ ! -e "$qm_spool/usage" ] || cat "$qm_spool/usage" >"$qm_copies/usage" || continue
    echo 1 >"$qm_copies/copied" && break
  done
  qm_leave_cgroup "$$" "$PPID"
  if [ "$qm_memory" = none ]; then
    # The node's listener sees this file and starts the flush, for which there is no room here
    # (src/sampler/listener/left-runs.ts).
    : >"${qm_copies%/*}/left"
    return
  fi
  (
    # The pid of this shell, which becomes Node: its memory must not count as the job's.
    read -r qm_self qm_rest </proc/self/stat
    qm_leave_cgroup "$qm_self"
    qm_node flush.js "$settings"
  ) &
}

# Tells the sampler that the job has ended and waits for its answer; fails unless the summary is on the disk.
qm_finish() {
  # A service that found this job by itself takes `usage` for the end, and may be clearing up now.
  while IFS='=' read -r qm_word qm_value; do
    [ "$qm_word=$qm_value" = ends=usage ] && return 0
  done <"$qm_dir/job"
  qm_word=
  # The sampler has made the FIFO, unless it is just starting.
  [ -p "$qm_dir/ack" ] || mkfifo "$qm_dir/ack" || return 1
  # Opened for both ends, so that neither side waits for the other.
  exec 3<>"$qm_dir/ack" || return 1
  # Only its existence counts: on a full disk it stays empty.
  printf 'version=1\nuptime=%s\nend=1\n' "$qm_uptime" >"$qm_dir/finish"
  [ -e "$qm_dir/finish" ] || return 1
  read -r qm_word <&3
  exec 3>&-
  # A sampler that answers "memory" goes on trying; the copies are for the case that the machine goes down meanwhile.
  [ "$qm_word" = disk ]
}

qm_epilog() {
  qm_begin "$1" "$2" || return 0
  [ -n "$qm_dir" ] && qm_attended && qm_finish && return 0
  qm_lift
  qm_choose_memory
  if [ -z "$qm_dir" ]; then
    # The prolog could write nowhere, or was not configured; what it found out then is gone.
    qm_reason="${qm_reason:-the prolog left no run directory}"
    # Unprivileged hooks put the copies elsewhere.
    [ "$qm_hooks" = plain ] || qm_make_dir || return 0
  fi
  qm_plain_record
  return 0
}

# For when the first try took too long: the sampler, or a disk, does not answer.
qm_second_try() {
  qm_begin "$1" "$2" && [ -n "$qm_dir" ] || return
  qm_lift
  qm_choose_memory
  qm_plain_record
}

case ${1:-x}${2:-x} in
*[!0-9]*) ;;
*) [ -e /etc/qmemacct/disabled ] || qm_bounded 4 qm_epilog "$1" "$2" || qm_bounded 1 qm_second_try "$1" "$2" ;;
esac

if [ "${3:-}" = -- ] && [ $# -gt 3 ]; then
  shift 3
  qm_chain "$@"
fi
exit 0
