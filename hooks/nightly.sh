#!/bin/sh -p
# The nightly job on one host of the cluster: qmemacct-nightly.timer or cron starts it, or a person:
#   /bin/sh -p DIR/nightly.sh [--date 2026-11-20] [--dry-run] [--no-mail] [--force]
# It is started more than once a night: what is done already costs a look at the ledger, what failed is tried again. Two
# at once, also on two hosts, are kept apart by the ledger's lock (src/cli/nightly/ledger.ts).

cd -P "${0%/*}" || exit 1
. ./hook.conf || exit 1
cd / || exit 1
umask 022
# A configuration of its own, where it is there: with PostgreSQL this job needs more rights than the hooks, which share
# the other one, and a user and a password of its own.
[ ! -f "${settings%/*}/nightly.toml" ] || settings=${settings%/*}/nightly.toml
set -- "$node" "$program/dist/src/cli/main.js" --config "$settings" nightly "$@"
# From the caller only what says which cell and which zone this is.
for qm_name in SGE_ROOT SGE_CELL TZ; do
  eval "qm_value=\${$qm_name:-}"
  [ -z "$qm_value" ] || set -- "$qm_name=$qm_value" "$@"
done
set -- /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
# The lowest turn at the disk, but not the idle class: hooks wait for a database that this one has locked.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
command -v ionice >/dev/null 2>&1 && ionice -c 2 -n 7 true 2>/dev/null && set -- ionice -c 2 -n 7 "$@"
exec nice -n 10 "$@"
