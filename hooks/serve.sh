#!/bin/sh -p
# `qmemacct serve` where systemd does not run: cron starts it every minute as the user of the accounting DB
# (qmemacct-serve.cron):
#   /bin/sh -p DIR/serve.sh [DIRECTORY]
# Given the directory of its socket, a server that finds another running exits at once.

cd -P "${0%/*}" || exit 1
. ./hook.conf || exit 1
qm_directory=${1:-}
cd / || exit 1
umask 077
set -- "$node" "$program/dist/src/cli/main.js" --config "$settings" serve
# From the caller's environment, only cell and time zone are kept.
for qm_name in SGE_ROOT SGE_CELL TZ; do
  eval "qm_value=\${$qm_name:-}"
  [ -z "$qm_value" ] || set -- "$qm_name=$qm_value" "$@"
done
set -- env "$@"
# A lock file that only this user can open: a user who may read a file can lock it.
[ -z "$qm_directory" ] || set -- flock -n -E 0 "$qm_directory/lock" "$@"
exec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
