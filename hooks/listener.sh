#!/bin/sh -p
# The listener as a service (src/sampler/listener): `qmemacct-listener.service` starts it where systemd runs; else
# `install --node` starts it by
#   /bin/sh -p DIR/listener.sh --renew
# and cron, by --detach, whenever none is running. Without --detach it takes over from the one that is running.

cd -P "${0%/*}" || exit 1
. ./common.sh || exit 1
. ./hook.conf || exit 1
cd / || exit 1
qm_how=${1:-}
qm_take_over=take-over
if [ "$qm_how" = --detach ]; then
  qm_lives "$run/listener/pid" && exit 0
  qm_take_over=
fi
set -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin MALLOC_ARENA_MAX=1 UV_THREADPOOL_SIZE=1 \
  MALLOC_TRIM_THRESHOLD_=8000000 MALLOC_TOP_PAD_=1000000 \
  "$node" --v8-pool-size=0 --single-threaded --max-semi-space-size=1 --max-old-space-size=128 ${full_flags:-} \
  "$program/dist/src/sampler/listener/main.js" "$settings" \
  "cluster=${cluster:-}" "state_dir=$state" "run_dir=$run" $qm_take_over
if [ "$qm_how" != '' ]; then
  setsid "$@" </dev/null >/dev/null 2>&1 &
  exit 0
fi
exec "$@"
