#!/bin/sh -p
# The nightly job on one host of the cluster: qmemacct-nightly.timer or cron starts it, or a person:
#   /bin/sh -p DIR/nightly.sh [--date 2026-11-20] [--dry-run] [--no-mail] [--force]
# It is started more than once a night: what is done already costs a look at the ledger, what failed is tried again. The
# ledger's lock keeps two nightly jobs apart, also on two hosts (src/cli/nightly/ledger.ts).

cd -P "${0%/*}" || exit 1
. ./hook.conf || exit 1
cd / || exit 1
umask 022
# Its own configuration, if there is one: with PostgreSQL this job needs more rights than the hooks, which use the
# shared one, and so a user and a password of its own.
[ ! -f "${settings%/*}/nightly.toml" ] || settings=${settings%/*}/nightly.toml
set -- "$node" "$program/dist/src/cli/main.js" --config "$settings" nightly "$@"
# From the caller's environment, only cell and time zone are kept.
for qm_name in SGE_ROOT SGE_CELL TZ; do
  eval "qm_value=\${$qm_name:-}"
  [ -z "$qm_value" ] || set -- "$qm_name=$qm_value" "$@"
done
set -- /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
# The lowest priority at the disk, but not the idle class: hooks wait for a database that this job has locked.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
command -v ionice >/dev/null 2>&1 && ionice -c 2 -n 7 true 2>/dev/null && set -- ionice -c 2 -n 7 "$@"
exec nice -n 10 "$@"
