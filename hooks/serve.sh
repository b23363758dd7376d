#!/bin/sh -p
# `qmemacct serve` where systemd does not run: cron starts it every minute as the user of the accounting DB
# (qmemacct-serve.cron); one that finds another of this installation running leaves at once.

cd -P "${0%/*}" || exit 1
. ./hook.conf || exit 1
qm_lock=$PWD/serve.sh
cd / || exit 1
umask 077
set -- "$node" "$program/dist/src/cli/main.js" --config "$settings" serve
# From the caller only what says which cell and which zone this is.
for qm_name in SGE_ROOT SGE_CELL TZ; do
  eval "qm_value=\${$qm_name:-}"
  [ -z "$qm_value" ] || set -- "$qm_name=$qm_value" "$@"
done
exec /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 flock -n -E 0 "$qm_lock" env "$@"
