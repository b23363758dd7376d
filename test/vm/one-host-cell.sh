# Shell functions for one Grid Engine 8.1.9 cell on one host, for scripts of the test machine (sourced by /bin/sh).
#
#   cell_start                     sets the cell up, starts qmaster and execd, waits until jobs can run
#   cell_submit QSUB-ARGUMENT...   submits as $CELL_USER from its home, prints the job number
#   cell_wait JOB SECONDS [TASKS]  waits until the accounting records of the job's tasks (default 1) are written
#   cell_accounting JOB            prints the records as qacct does
#   cell_field JOB NAME            prints one value of each record, for example exit_status
#   cell_problems                  prints states of queues and jobs and what the daemons complained about
#
#   fact NAME VALUE...             prints a line for facts() of the test
#
# Read before cell_start: CELL_PROLOG and CELL_EPILOG (values as in sge_conf(5), default none), CELL_EXECD_PARAMS.
# Queue all.q has 4 slots, parallel environment smp; h_vmem is consumable, 16 GiB in all, 1 GiB where not requested.
# The cell is made afresh: one that the host itself may have is neither seen nor used.

CELL_HOST=vmhost
CELL_ADDRESS=10.99.0.1
CELL_USER=gealice
CELL_HOME=/home/$CELL_USER

export SGE_ROOT=/var/lib/gridengine SGE_CELL=default SGE_ARCH=lx-amd64
# The programs themselves: the ones in /usr/bin are shell scripts round them, slow under emulation.
PATH=/usr/lib/gridengine:$PATH

cell_common=$SGE_ROOT/$SGE_CELL/common
cell_spool=/var/spool/gridengine
cell_admin=sgeadmin
cell_templates=/run/cell
cell_control_group=/sys/fs/cgroup/system.slice/gridengine-exec.service

cell_start() {
  cell_network && cell_user && cell_directories && cell_objects && cell_daemons && return
  echo 'one-host-cell: the cell cannot be set up' >&2
  return 1
}

# qmaster refuses a host name that stands for a loopback address.
cell_network() {
  hostname "$CELL_HOST" &&
    ip address add "$CELL_ADDRESS/24" dev dummy0 &&
    ip link set dummy0 up &&
    printf '127.0.0.1 localhost\n%s %s\n' "$CELL_ADDRESS" "$CELL_HOST" >/etc/hosts &&
    echo 'hosts: files' >/etc/nsswitch.conf
}

cell_user() {
  id "$CELL_USER" >/dev/null 2>&1 || useradd -M -d "$CELL_HOME" -s /bin/sh "$CELL_USER" || return
  mkdir -p "$CELL_HOME" &&
    mount -t tmpfs -o "mode=755,uid=$(id -u "$CELL_USER"),gid=$(id -g "$CELL_USER")" tmpfs "$CELL_HOME"
}

cell_directories() {
  mount -t tmpfs -o mode=755 tmpfs "$SGE_ROOT/$SGE_CELL" &&
    mount -t tmpfs -o mode=755 tmpfs "$cell_spool" &&
    mkdir -p "$cell_common" "$cell_spool/qmaster/job_scripts" "$cell_spool/spooldb" "$cell_spool/execd" \
      /run/gridengine &&
    cp /usr/share/gridengine/default-bootstrap "$cell_common/bootstrap" &&
    echo "$CELL_HOST" >"$cell_common/act_qmaster" &&
    chown -R "$cell_admin:" "$SGE_ROOT/$SGE_CELL" "$cell_spool" /run/gridengine
}

# Writes the cell's objects into the spooling database before qmaster runs.
cell_objects() {
  mkdir -p "$cell_templates/complexes" "$cell_templates/exechosts" "$cell_templates/submithosts" "$cell_templates/pes"
  cell_configuration >"$cell_templates/configuration"
  cp /usr/share/gridengine/util/resources/centry/* "$cell_templates/complexes/"
  sed -i 's/^consumable.*/consumable YES/; s/^default.*/default 1G/' "$cell_templates/complexes/h_vmem"
  cp /usr/share/gridengine/util/resources/pe/smp "$cell_templates/pes/"
  echo "hostname $CELL_HOST" >"$cell_templates/submithosts/$CELL_HOST"
  cell_exec_host >"$cell_templates/exechosts/$CELL_HOST"

  cell_as "$cell_admin" spoolinit berkeleydb libspoolb "$cell_spool/spooldb" init &&
    cell_spool_defaults configuration "$cell_templates/configuration" &&
    cell_spool_defaults complexes "$cell_templates/complexes" &&
    cell_spool_defaults usersets /usr/share/gridengine/util/resources/usersets &&
    cell_spool_defaults managers root "$cell_admin" &&
    cell_spool_defaults pes "$cell_templates/pes" &&
    cell_spool_defaults submithosts "$cell_templates/submithosts" &&
    cell_spool_defaults exechosts "$cell_templates/exechosts"
}

cell_spool_defaults() { # KIND TEMPLATE
  cell_as "$cell_admin" spooldefaults "$@"
}

# Hooks belong in here, not in a later qconf: a change takes up to 15 s to reach execd.
cell_configuration() {
  prolog=${CELL_PROLOG:-none} epilog=${CELL_EPILOG:-none} execd_params=${CELL_EXECD_PARAMS:-none} awk '
    BEGIN {
      split("prolog epilog execd_params", names, " ")
      for (i in names) value[names[i]] = ENVIRON[names[i]]
      value["load_report_time"] = "00:00:05"
      value["reporting_params"] = "accounting=true reporting=false flush_time=00:00:01 " \
        "accounting_flush_time=00:00:00 joblog=false sharelog=00:00:00"
    }
    $1 in value { print $1, value[$1]; next }
    { print }' /usr/share/gridengine/default-configuration
}

cell_exec_host() {
  cat <<END
hostname $CELL_HOST
load_scaling NONE
complex_values h_vmem=16G
user_lists NONE
xuser_lists NONE
projects NONE
xprojects NONE
usage_scaling NONE
report_variables NONE
END
}

# A queue spooled before qmaster runs would have no instances.
cell_daemons() {
  sge_qmaster &&
    cell_until 120 cell_answers &&
    cell_scheduler >"$cell_templates/scheduler" &&
    qconf -Msconf "$cell_templates/scheduler" >/dev/null &&
    cell_queue >"$cell_templates/all.q" &&
    qconf -Aq "$cell_templates/all.q" >/dev/null &&
    cell_exec_daemon &&
    cell_until 120 cell_is_ready
}

# A service of systemd where that runs; else, as under it, execd and its jobs are in a control group of their own.
cell_exec_daemon() {
  if [ -d /run/systemd/system ]; then
    systemd-run --quiet --unit=ocs6444-execd --slice=ocs6444.slice --property=DefaultDependencies=no \
      --property=Type=forking --setenv=SGE_ROOT --setenv=SGE_CELL --setenv=PATH "$(command -v sge_execd)"
    return
  fi
  mkdir -p "$cell_control_group" &&
    for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
      echo "+$controller" >"${cell_control_group%/*}/cgroup.subtree_control" || return
    done &&
    sh -c 'echo $$ >"$1/cgroup.procs" && exec sge_execd' sh "$cell_control_group"
}

cell_scheduler() {
  qconf -ssconf | sed -E 's/^(schedule_interval) .*/\1 0:0:1/; s/^(flush_(submit|finish)_sec) .*/\1 1/
    s/^(job_load_adjustments) .*/\1 NONE/'
}

cell_queue() {
  qconf -sq | sed -E "s/^(qname) .*/\\1 all.q/; s/^(hostlist) .*/\\1 $CELL_HOST/; s/^(load_thresholds) .*/\\1 NONE/
    s/^(pe_list) .*/\\1 smp/; s/^(slots) .*/\\1 4/"
}

# The daemon may return before it listens.
cell_answers() {
  qconf -ssconf >/dev/null 2>&1
}

# Without load values execd has not reported yet; state "au" then.
cell_is_ready() {
  qstat -f -q all.q | awk '$1 ~ /^all.q@/ { ready = $4 != "-NA-" && $6 == "" } END { exit !ready }'
}

cell_until() { # SECONDS COMMAND...
  deadline=$(($(date +%s) + $1))
  shift
  until "$@"; do
    if [ "$(date +%s)" -ge "$deadline" ]; then
      echo "one-host-cell: waited too long for: $*" >&2
      cell_problems >&2
      return 1
    fi
    sleep 0.5
  done
}

cell_as() { # USER COMMAND...
  as_user=$1
  shift
  setpriv --reuid "$as_user" --regid "$(id -g "$as_user")" --init-groups "$@"
}

cell_submit() {
  (
    cd "$CELL_HOME" &&
      export HOME="$CELL_HOME" USER="$CELL_USER" LOGNAME="$CELL_USER" SHELL=/bin/sh &&
      cell_as "$CELL_USER" qsub -terse -S /bin/sh "$@" </dev/null
  ) | sed 's/\..*//'
}

cell_wait() {
  cell_until "$2" cell_has_ended "$1" "${3:-1}"
}

cell_has_ended() { # JOB TASKS
  [ "$(awk -F: -v job="$1" '$6 == job' "$cell_common/accounting" 2>/dev/null | wc -l)" -ge "$2" ]
}

cell_accounting() {
  qacct -j "$1"
}

cell_field() {
  qacct -j "$1" | awk -v name="$2" '$1 == name { sub(/^[^ ]+ +/, ""); sub(/ +$/, ""); print }'
}

fact() {
  echo "fact $*"
}

cell_problems() {
  qstat -f -explain E
  qstat -u '*'
  grep -h '|[CE]|' "$cell_spool/qmaster/messages" "$cell_spool/execd/$CELL_HOST/messages"
}
