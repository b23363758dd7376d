#!/bin/sh
# Installs the Debian packages that tests can use: a real Grid Engine, a C compiler, programs to compare with, qemu,
# PostgreSQL and PgBouncer, a browser, Prometheus and other targets of exports, tools for packages and rollouts,
# readers of HDF5, the shells with completion, checkers of manual pages and XML.
# Where that can't be done, it says so and the tests that need them print that they were skipped.
set -u
wanted='gridengine-master gridengine-exec gridengine-client gridengine-common iproute2 gcc libc6-dev procps
  sysstat linux-perf python3-psutil qemu-system-x86 busybox-static postgresql
  chromium prometheus prometheus-node-exporter graphite-carbon graphite-web influxdb victoria-metrics
  pgbouncer dpkg-dev rpm hdf5-tools python3-tables ansible-core openssh-server openssh-client python3-apt zsh fish mandoc libxml2-utils'
missing=
for package in $wanted; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "skipped: not root on a Debian system, so these were not installed:$missing"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null || true
# The tests start their own servers: the installation must not create and start one.
case "$missing" in
*postgresql*)
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  ;;
esac
# No package may start a service.
if [ ! -e /usr/sbin/policy-rc.d ]; then
  printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  trap 'rm -f /usr/sbin/policy-rc.d' EXIT
fi
install() {
  apt-get install -q -y --no-install-recommends "$@" >/dev/null
}
# One unavailable package would keep all others from being installed.
# shellcheck disable=SC2086
install $missing || for package in $missing; do
  install "$package" || echo "skipped: $package could not be installed"
done
