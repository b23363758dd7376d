#!/bin/sh -p
# "qmemacct uninstall --node" puts this in the place of prolog.sh and epilog.sh, as long as the configuration of Grid
# Engine, or of a running job, may name them: a missing hook would stop the host's queues. It starts the site's own hook
# if there is one, and accounts nothing; a job that began before the uninstallation still gets its epilog.

trap 'exit 0' EXIT
. "${0%/*}/common.sh"

case ${0##*/}:${1:-x}${2:-x} in
epilog.sh:*[!0-9]*) ;;
epilog.sh:*)
  . "${0%/*}/hook.conf"
  for qm_dir in "$state/run/$1.$2."* "$state/plain/$1.$2."* "$run/run/$1.$2."*; do
    [ -d "$qm_dir" ] && [ -r "$program/hooks/epilog.sh" ] && exec /bin/sh -p "$program/hooks/epilog.sh" "$@"
  done
  ;;
esac

if [ "${3:-}" = -- ] && [ $# -gt 3 ]; then
  shift 3
  qm_chain "$@"
fi
exit 0
