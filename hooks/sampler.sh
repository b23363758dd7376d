#!/bin/sh -p
# The sampler as a service, for the node scope: `qmemacct-sampler.service` starts it where systemd runs, else cron by
#   /bin/sh -p DIR/sampler.sh --detach
# every minute: a service that finds another running exits at once.

cd -P "${0%/*}" || exit 1
. ./common.sh || exit 1
. ./hook.conf || exit 1
cd / || exit 1
umask 077
qm_service && exit 0
set -- "${1:-}" "$node" --v8-pool-size=0 --single-threaded --max-semi-space-size=2 --max-old-space-size=512 ${full_flags:-} \
  "$program/dist/src/sampler/service/main.js" "$settings"
qm_how=$1
shift
set -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin MALLOC_ARENA_MAX=1 UV_THREADPOOL_SIZE=1 "$@"
if [ "$qm_how" = --detach ]; then
  setsid "$@" </dev/null >/dev/null 2>&1 &
  exit 0
fi
exec "$@"
