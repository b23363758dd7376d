#!/bin/sh -p
# Epilog of Grid Engine: tells this job's sampler to finish and waits, bounded, until the summary is on the disk; then
# becomes the site's own epilog if there is one.
#   epilog  root@/usr/bin/env -i /bin/sh -p DIR/epilog.sh $job_id $ja_task_id [-- SITE-HOOK]
# Written by `qmemacct install`. Leaves with 0, or as SITE-HOOK does: any other status would run the job again.

# Should the shell itself give up (no more processes, a missing file), that is still no reason to harm the job.
trap 'exit 0' EXIT
. "${0%/*}/common.sh"

# Whether a sampler looks after qm_dir, or is just starting up.
qm_attended() {
  qm_pid=
  if [ -e "$qm_dir/pid" ]; then
    while IFS='=' read -r qm_word qm_value; do
      case $qm_word in
      pid) qm_pid=$qm_value ;;
      start) qm_begun=$qm_value ;;
      esac
    done <"$qm_dir/pid"
    [ -n "$qm_pid" ] && [ "$(qm_start_of "$qm_pid" 2>/dev/null)" = "$qm_begun" ]
    return
  fi
  [ -e "$qm_dir/starting" ] && read -r qm_pid <"$qm_dir/starting" && [ -d "/proc/$qm_pid" ]
}

# Leaves copies of what Grid Engine knows, for whoever finishes this run later.
qm_plain_record() {
  if [ "$qm_hooks" = plain ]; then
    # Root takes these in; a half-written file is left under a name that it does not read.
    qm_file=$state/outbox/$qm_key.usage
    {
      qm_describe printf '%s\n'
      echo ==config==
      head -c 40960 "$qm_spool/config"
      echo
      echo ==usage==
      head -c 8192 "$qm_spool/usage"
    } >"$qm_file.new" && mv "$qm_file.new" "$qm_file"
    rm -rf "$qm_dir"
    return
  fi
  for qm_copies in "$qm_dir" "$run/run/$qm_key"; do
    [ -n "$qm_copies" ] || continue
    [ -d "$qm_copies" ] || mkdir -p "$qm_copies" || continue
    [ -s "$qm_copies/job" ] || { qm_describe printf '%s\n'; echo end=1; } >"$qm_copies/job" || continue
    cat "$qm_spool/config" >"$qm_copies/config" || continue
    [ ! -e "$qm_spool/usage" ] || cat "$qm_spool/usage" >"$qm_copies/usage" || continue
    echo 1 >"$qm_copies/copied" && break
  done
  [ "$qm_memory" = none ] || ( qm_node flush.js "$settings" ) &
}

qm_epilog() {
  qm_begin "$1" "$2" || return
  qm_lift
  qm_choose_memory
  if [ -z "$qm_dir" ]; then
    # The prolog could write nowhere, or was not configured; what it found out then is gone.
    qm_reason="${qm_reason:-the prolog left no run directory}"
    qm_make_dir || return
    qm_plain_record
    return
  fi
  if qm_attended; then
    qm_word=
    if mkfifo "$qm_dir/ack"; then
      exec 3<>"$qm_dir/ack"
      printf 'version=1\nuptime=%s\nend=1\n' "$qm_uptime" >"$qm_dir/finish"
      qm_word=$(timeout 3.5 head -n 1 <&3)
      exec 3>&-
    else
      printf 'version=1\nuptime=%s\nend=1\n' "$qm_uptime" >"$qm_dir/finish"
    fi
    [ "$qm_word" = disk ] && return
    # The sampler goes on trying; this is for the case that the machine goes down meanwhile.
    qm_reason='the sampler could not write its summary when the job ended'
  fi
  qm_plain_record
}

case ${1:-x}${2:-x} in
*[!0-9]*) ;;
*) [ -e /etc/qmemacct/disabled ] || qm_bounded 5 qm_epilog "$1" "$2" ;;
esac

if [ "${3:-}" = -- ] && [ $# -gt 3 ]; then
  shift 3
  qm_chain "$@"
fi
exit 0
