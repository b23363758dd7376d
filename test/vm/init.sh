#!/bin/busybox sh
# First process of the test machine, started from its initramfs. Mounts the host's file system as a copy-on-write
# root, runs script.sh of the shared directory in it, leaves output.txt and status there, switches off.

bb=/bin/busybox
root=/root
shared=$root/run/vm

switch_off() {
  echo o >/proc/sysrq-trigger
  # The power goes off a moment later; process 1 must not end before.
  $bb sleep 60
}

fail() {
  echo "vm: $*"
  switch_off
}

mount_system() { # DIRECTORY
  $bb mount -t proc proc "$1/proc"
  $bb mount -t sysfs sysfs "$1/sys"
  $bb mount -t devtmpfs devtmpfs "$1/dev"
}

$bb mkdir -p /proc /sys /host /over $root
mount_system ''

while read -r module; do
  $bb insmod "/lib/$module" || fail "cannot load $module"
done </modules

nine=trans=virtio,version=9p2000.L,msize=512000
$bb mount -t 9p -o "ro,$nine,cache=loose" host /host || fail 'cannot mount the file system of the host'
$bb mount -t tmpfs -o mode=755 tmpfs /over
$bb mkdir /over/upper /over/work
$bb mount -t overlay -o lowerdir=/host,upperdir=/over/upper,workdir=/over/work overlay $root ||
  fail 'cannot lay a writable layer over the file system of the host'

# Nothing of an installation on the host: its node.db may have another schema.
$bb rm -rf $root/var/lib/qmemacct

mount_system $root
$bb mkdir -p $root/dev/shm $root/dev/pts
$bb mount -t tmpfs tmpfs $root/dev/shm
$bb mount -t devpts -o ptmxmode=666 devpts $root/dev/pts
$bb mount -t tmpfs -o mode=755 tmpfs $root/run
$bb mkdir $shared
$bb mount -t 9p -o "$nine" shared $shared || fail 'cannot mount the shared directory'

# systemd as the first process of the machine, with a bus and the script as its only services.
start_systemd() {
  units=$root/run/systemd/system
  $bb mkdir -p $units
  # What a booting machine does beside takes minutes under emulation.
  for unit in $root/lib/systemd/system/sysinit.target.wants/* $root/etc/systemd/system/sysinit.target.wants/*; do
    $bb ln -sf /dev/null "$units/${unit##*/}"
  done
  $bb cat >$units/dbus.socket <<'END'
[Unit]
DefaultDependencies=no
[Socket]
ListenStream=/run/dbus/system_bus_socket
END
  $bb cat >$units/dbus.service <<'END'
[Unit]
DefaultDependencies=no
Requires=dbus.socket
[Service]
Type=notify
ExecStart=/usr/bin/dbus-daemon --system --address=systemd: --nofork --nopidfile --systemd-activation
StandardError=null
END
  $bb cat >$units/vm.service <<'END'
[Unit]
DefaultDependencies=no
Requires=dbus.service
After=dbus.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
Environment=HOME=/root VM_OUT=/run/vm PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=/bin/sh -c '/bin/sh /run/vm/script.sh </dev/null >/run/vm/output.txt 2>&1; echo $? >/run/vm/status; sync; echo o >/proc/sysrq-trigger'
END
  $bb umount /proc /sys
  exec $bb switch_root $root /lib/systemd/systemd --unit=vm.service --log-target=console --log-level=warning
}

$bb ip link set lo up
$bb hostname vm
case " $($bb cat /proc/cmdline) " in *' vm.systemd '*) start_systemd ;; esac

cgroups=$root/sys/fs/cgroup
$bb mount -t cgroup2 cgroup2 $cgroups || fail 'cannot mount cgroup2'
for controller in $($bb cat $cgroups/cgroup.controllers); do
  echo "+$controller" >$cgroups/cgroup.subtree_control
done

echo "vm: started after $($bb cut -d ' ' -f 1 /proc/uptime) s"
$bb env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root VM_OUT=/run/vm \
  $bb chroot $root /bin/sh /run/vm/script.sh </dev/null >$shared/output.txt 2>&1
echo $? >$shared/status
echo "vm: script ended after $($bb cut -d ' ' -f 1 /proc/uptime) s"
switch_off
