# What prolog.sh and epilog.sh share. POSIX sh; for dash and bash (busybox ash knows no -p, and the installation says so).
#
# A hook runs in the job owner's environment, under the job's limits, with the job's files as standard output, and its
# exit status can set the queue to error. So: everything of ours happens in a background shell without the job's
# descriptors, the foreground only waits for it, for a bounded time, and exits with 0 or as the chained site hook.

# Whether the service of the node scope runs on this host (src/sampler/service).
qm_service() {
  [ "${scope:-job}" = node ] && qm_lives "$run/service/pid"
}

# Whether the process that wrote this `pid` file still lives.
qm_lives() {
  qm_begun=
  qm_pid=
  while IFS='=' read -r qm_word qm_value; do
    case $qm_word in
    pid) qm_pid=$qm_value ;;
    start) qm_begun=$qm_value ;;
    esac
  done 2>/dev/null <"$1"
  [ -n "$qm_pid" ] && qm_start_of "$qm_pid" && [ "$qm_ticks" = "$qm_begun" ]
}

# qm_signal SIGNAL PID: signals only a child that the hook has not waited for: any other pid may be someone else's by
# now. (Not for use in a subshell, whose pid is not $$.) Nothing may stand between the check and the signal, since
# shells wait by themselves for children that have ended.
qm_signal() {
  { read -r qm_line <"/proc/${2:-none}/stat"; } 2>/dev/null || return 0
  case ${qm_line##*) } in
  ?" $$ "*) kill "-$1" "$2" 2>/dev/null ;;
  esac
}

# qm_bounded SECONDS COMMAND...: runs COMMAND in the background, waits for it at most SECONDS; returns its status, or
# one above 128.
# A command that hangs in the kernel cannot even be killed: the foreground goes on without it.
qm_bounded() {
  qm_seconds=$1
  shift
  trap : USR1
  # Hooks of interactive jobs have a terminal. When such a hook ends, the kernel sends HUP to what it has left behind,
  # also to a Node that has no session of its own yet.
  trap '' HUP
  "$@" </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
  qm_work=$!
  trap - HUP
  (
    # $! rather than a variable: the shell sets it with the fork, so that no signal comes in between; until then it is
    # the pid of the work. KILL: a child of dash that has not become `sleep` yet would still have its parent's trap for
    # TERM, and sleep on.
    trap '[ "$!" = "$qm_work" ] || kill -KILL "$!" 2>/dev/null; exit 0' TERM
    sleep "$qm_seconds" &
    wait "$!"
    trap '' TERM
    kill -USR1 "$$" 2>/dev/null
  ) </dev/null >/dev/null 2>&1 &
  qm_watch=$!
  wait "$qm_work" 2>/dev/null
  qm_status=$?
  qm_signal KILL "$qm_work"
  qm_signal TERM "$qm_watch"
  # This second wait makes sure that no late USR1 reaches the chained hook.
  wait "$qm_watch" 2>/dev/null
  trap - USR1
  return "$qm_status"
}

# qm_begin JOB TASK: reads the configuration and identifies this run; fails when this is not a job of Grid Engine. Sets
# qm_dir to the run directory if there is one, qm_key, qm_spool, qm_hooks (root or plain), qm_base.
qm_begin() {
  PATH=/usr/sbin:/usr/bin:/sbin:/bin
  export PATH
  umask 077
  cd -P "${0%/*}" || return 1
  . ./hook.conf || return 1
  cd / || return 1
  qm_job=$1
  qm_task=$2
  while read -r qm_word qm_uid qm_rest; do
    [ "$qm_word" = Uid: ] && break
  done </proc/self/status
  if [ "$qm_uid" = 0 ]; then
    qm_hooks=root qm_base=$state/run
    # Never from the environment, where the owner could have set SGE_JOB_SPOOL_DIR.
    cd -P "/proc/$PPID/cwd" || return 1
    qm_spool=$PWD
    cd / || return 1
  else
    qm_hooks=plain qm_base=$state/plain
    # The shepherd runs as root, so the owner may not see its directory. The variable could only deceive its own owner.
    qm_spool=$(readlink "/proc/$PPID/cwd" || printf '%s\n' "${SGE_JOB_SPOOL_DIR:-}")
  fi
  if [ "$qm_task" = 0 ]; then qm_name=$qm_job.1; else qm_name=$qm_job.$qm_task; fi
  [ "${qm_spool##*/}" = "$qm_name" ] || return 1
  read -r qm_boot </proc/sys/kernel/random/boot_id || return 1
  qm_start_of "$PPID" || return 1
  qm_start=$qm_ticks
  read -r qm_uptime qm_rest </proc/uptime
  qm_key=$qm_job.$qm_task.${qm_boot%%-*}.$PPID.$qm_start
  qm_dir=
  for qm_try in "$qm_base" "$run/run"; do
    # -O: in the plain directory someone else may have taken our name.
    if [ -d "$qm_try/$qm_key" ] && [ ! -L "$qm_try/$qm_key" ] && [ -O "$qm_try/$qm_key" ]; then
      qm_dir=$qm_try/$qm_key
      break
    fi
  done
  return 0
}

# Sets qm_ticks to the start time of a process in clock ticks after boot. The command may hold blanks and parentheses.
# Fails for a process that has ended, even if its parent has not waited for it.
qm_start_of() {
  qm_ticks=
  { read -r qm_line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -- ${qm_line##*) }
  [ "$1" != Z ] && [ "$1" != X ] || return 1
  qm_ticks=${20}
}

# Soft and hard limits in force: qm_as_soft, qm_as_hard ... in bytes, seconds or a count, or "unlimited".
# One read of a file: $(ulimit ...) would fork for each.
qm_read_limits() {
  while read -r qm_1 qm_2 qm_3 qm_4 qm_5 qm_rest; do
    case "$qm_1 $qm_2 $qm_3" in
    'Max cpu time') qm_cpu_soft=$qm_4 qm_cpu_hard=$qm_5 ;;
    'Max file size') qm_fsize_soft=$qm_4 qm_fsize_hard=$qm_5 ;;
    'Max data size') qm_data_soft=$qm_4 qm_data_hard=$qm_5 ;;
    'Max open files') qm_files_soft=$qm_4 ;;
    'Max address space') qm_as_soft=$qm_4 qm_as_hard=$qm_5 ;;
    esac
  done </proc/self/limits
}

# qm_lift_one FLAG UNIT SOFT HARD: removes a limit, or at least raises the soft one to the hard one.
qm_lift_one() {
  [ "$3$4" = unlimitedunlimited ] && return
  qm_lifted=1
  command ulimit "-$1" unlimited 2>/dev/null && return
  [ "$4" = unlimited ] && command ulimit -S "-$1" unlimited 2>/dev/null && return
  [ "$3" = "$4" ] || command ulimit -S "-$1" "$(($4 / $2))" 2>/dev/null
}

# Keeps the job's own limit in qm_address_space (KiB or "unlimited"), then lifts limits that would end or blind the
# sampler.
qm_lift() {
  qm_read_limits
  qm_address_space=$qm_as_hard
  [ "$qm_as_hard" = unlimited ] || qm_address_space=$((qm_as_hard / 1024))
  qm_lifted=
  qm_lift_one v 1024 "$qm_as_soft" "$qm_as_hard"
  qm_lift_one d 1024 "$qm_data_soft" "$qm_data_hard"
  qm_lift_one f 512 "$qm_fsize_soft" "$qm_fsize_hard"
  qm_lift_one t 1 "$qm_cpu_soft" "$qm_cpu_hard"
  [ -z "$qm_lifted" ] || qm_read_limits
  command ulimit -c 0 2>/dev/null
  return 0
}

# Decides by the limits in force how the sampler can run: sets qm_memory (full, small, none) and qm_reason.
# small_kib and full_kib of hook.conf are what the installed Node needs; the defaults are Node 20's.
qm_choose_memory() {
  qm_memory=full
  qm_reason=
  for qm_bytes in "$qm_as_soft" "$qm_data_soft"; do
    [ "$qm_bytes" = unlimited ] && continue
    if [ "$((qm_bytes / 1024))" -lt "${small_kib:-143360}" ]; then
      qm_memory=none
      qm_reason="the job's limit of $((qm_bytes / 1024)) KiB leaves no room for a sampler and could not be lifted"
      return
    elif [ "$((qm_bytes / 1024))" -lt "${full_kib:-1048576}" ]; then
      qm_memory=small
    fi
  done
  # With so few descriptors Node fails before it has begun.
  if [ "$qm_files_soft" != unlimited ] && [ "$qm_files_soft" -lt 32 ]; then
    qm_memory=none
    qm_reason="the job's limit of $qm_files_soft descriptors leaves no room for a sampler and could not be lifted"
  fi
}

# Creates the run directory, in the state directory or else in the run-time directory, with its `job` file and, since a
# full disk may still take a directory, with room for `starting`. Fails, with qm_dir empty, if neither place works.
qm_make_dir() {
  for qm_try in "$qm_base" "$run/run"; do
    qm_dir=$qm_try/$qm_key
    mkdir "$qm_dir" 2>/dev/null ||
      { [ "$qm_hooks" = root ] && mkdir -p "$qm_try" 2>/dev/null && mkdir "$qm_dir" 2>/dev/null; } || continue
    # Made before `job`: with that file, the service begins.
    [ "$arm_wait" = 0 ] || mkfifo "$qm_dir/armed"
    echo 0 >"$qm_dir/starting" && qm_write_job "$qm_dir" && return 0
    rm -rf "$qm_dir"
  done
  qm_dir=
  return 1
}

# qm_write_job DIRECTORY: writes `job` there; fails where the disk is full.
qm_write_job() {
  { qm_describe printf '%s\n' && echo end=1; } >"$1/job"
}

# Runs the given command with the lines of the `job` file (src/sampler/job/run-description.ts) as further arguments.
qm_describe() {
  "$@" version=1 "job=$qm_job" "task=$qm_task" "spool=$qm_spool" "shepherd_pid=$PPID" "shepherd_start=$qm_start" \
    "boot=$qm_boot" "hooks=$qm_hooks" "memory=$qm_memory" "reason=$qm_reason" "uptime=$qm_uptime" \
    "address_space_kib=$qm_address_space"
}

# qm_node SCRIPT ARGUMENT...: replaces this shell by Node, in a session and with an environment of its own.
qm_node() {
  qm_script=$program/dist/src/sampler/$1
  shift
  qm_flags='--v8-pool-size=0 --single-threaded --max-semi-space-size=1'
  if [ "$qm_memory" = small ]; then
    qm_flags="$qm_flags --jitless --max-old-space-size=24"
    exec setsid env -i PATH=/usr/bin:/bin MALLOC_ARENA_MAX=1 UV_THREADPOOL_SIZE=1 \
      "$node" $qm_flags "$qm_script" "$@"
  fi
  # full_flags of hook.conf: further flags that the installed Node knows (src/base/node-flags.ts).
  qm_flags="$qm_flags --max-old-space-size=128 ${full_flags:-}"
  exec setsid env -i PATH=/usr/bin:/bin MALLOC_ARENA_MAX=1 UV_THREADPOOL_SIZE=1 \
    MALLOC_TRIM_THRESHOLD_=8000000 MALLOC_TOP_PAD_=1000000 "$node" $qm_flags "$qm_script" "$@"
}

# qm_chain [USER@]PATH ARGUMENT...: replaces this shell by the site's own hook, as Grid Engine would have started it.
qm_chain() {
  case $1 in
  *@*)
    qm_user=${1%%@*}
    qm_path=${1#*@}
    ;;
  *)
    qm_user=
    qm_path=$1
    ;;
  esac
  shift
  # From here on a failure is the site's own, and Grid Engine must see it.
  trap - EXIT
  while read -r qm_word qm_uid qm_rest; do
    [ "$qm_word" = Uid: ] && break
  done </proc/self/status
  if [ "$qm_uid" != 0 ]; then
    [ -x "$qm_path" ] || qm_spare_job "it can't be executed"
    # As the job's owner with the owner's environment: just what the site's hook would have had.
    exec "$qm_path" "$@"
  fi
  PATH=/usr/sbin:/usr/bin:/sbin:/bin
  qm_spool=$(readlink "/proc/$PPID/cwd")
  qm_gid=0
  case $qm_user in
  root) qm_uid=0 ;;
  '') qm_find_owner || qm_refuse ;;
  *) qm_uid=$(id -u -- "$qm_user") || qm_spare_job "there is no user $qm_user" ;;
  esac
  [ "$qm_uid" = 0 ] || qm_gid=$(id -g -- "$(id -nu -- "$qm_uid")")
  qm_become=
  [ "$qm_uid" = 0 ] || qm_become="setpriv --reuid=$qm_uid --regid=$qm_gid --init-groups --"
  case ${0##*/} in
  epilog.sh) $qm_become test -x "$qm_path" || qm_spare_job "it can't be executed" ;;
  esac
  qm_privileged=
  [ "$qm_gid" != 0 ] || qm_privileged=1
  qm_start_chained "$qm_path" "$@"
}

# qm_config KEY: the values of KEY in the job's config. The user may have forged several.
qm_config() {
  sed -n "s/^$1=//p" "$qm_spool/config" 2>/dev/null
}

# Prints the environment that Grid Engine gives to a hook, one variable per line; a line feed in a value becomes \003.
# Of two equal names env takes the last. All of this in streams: to append to a long text or list takes a shell
# quadratic time.
qm_environment() {
  qm_controls=$(printf '[\001\002\003]')
  qm_backslash=$(printf '\002')
  qm_line_feed=$(printf '\003')
  case $(qm_config inherit_env | tail -n 1) in
  # What execd was started with. Values with a line feed would look like two variables: they are left out.
  '' | 1) tr '\n\000' '\001\n' <"/proc/$PPID/environ" 2>/dev/null | sed "/$qm_controls/d" ;;
  esac
  # The job's own, in which execd has escaped \ and line feeds.
  sed -e "/$qm_controls/d" -e "s/\\\\\\\\/$qm_backslash/g" -e "s/\\\\n/$qm_line_feed/g" -e "s/$qm_backslash/\\\\/g" \
    "$qm_spool/environment" 2>/dev/null
  echo
  sed -n -e "/$qm_controls/d" -e '/^njob_args=/q' -e 's/^stdin_path=/SGE_STDIN_PATH=/p' \
    -e 's/^stdout_path=/SGE_STDOUT_PATH=/p' -e 's/^stderr_path=/SGE_STDERR_PATH=/p' -e 's/^cwd=/SGE_CWD_PATH=/p' \
    "$qm_spool/config" 2>/dev/null
  sed -n "/$qm_controls/d; s/^exit_status=/SGE_JOBEXIT_STAT=/p" "$qm_spool/usage" 2>/dev/null
}

# Leaves out the variables that a privileged hook does not get.
qm_harmless() {
  while IFS= read -r qm_line; do
    qm_dangerous "$qm_line" || printf '%s\n' "$qm_line"
  done
}

# qm_start_chained PATH ARGUMENT...: starts it as qm_uid and qm_gid, with the environment that Grid Engine gives to a
# hook.
qm_start_chained() {
  qm_filter=cat
  [ -z "$qm_privileged" ] || qm_filter=qm_harmless
  qm_variables=$(qm_environment | sed '/^[^=][^=]*=/!d' | "$qm_filter" | tr '\n\003' '\002\n')
  set -f
  IFS=$(printf '\002')
  set -- $qm_variables "$@"
  unset IFS
  exec $qm_become env -i -- "$@"
}

# Sets qm_uid to the job's owner, as whom Grid Engine starts a hook without USER@. Fails, with qm_problem, if that is
# not certain.
# The shepherd gives `trace` to the owner, but leaves it to the admin user or root where it can't (a root-squashed
# spool). `config` could be forged by a line feed in a path or an argument: every job_owner in it must agree.
qm_find_owner() {
  set -- $(stat -c %u "$qm_spool" "$qm_spool/trace" 2>/dev/null)
  qm_uid=${2:-}
  qm_problem="the spool file trace is of uid ${2:-unknown}"
  [ -n "$qm_uid" ] && [ "$qm_uid" != 0 ] && [ "$qm_uid" != "$1" ] || return 1
  qm_problem="$qm_problem, and job_owner in config is someone else"
  # If there are several names, id finds no account.
  [ "$(id -u -- "$(qm_config job_owner | sort -u)" 2>/dev/null)" = "$qm_uid" ]
}

# The chained hook's user is not certain: exits as Grid Engine would, which puts the job into the error state.
qm_refuse() {
  qm_problem="its user is not sure: $qm_problem; configure it as USER@$qm_path, or give the job's owner the spool files"
  qm_spare_job "$qm_problem"
  qm_log "$qm_problem"
  exit 100
}

# qm_spare_job REASON: an epilog that can't be started is only logged, as Grid Engine does: by any other status the job,
# which has run, would run again. Returns in a prolog.
qm_spare_job() {
  case ${0##*/} in
  epilog.sh)
    qm_log "$1"
    exit 0
    ;;
  esac
}

qm_log() {
  qm_spool=${qm_spool:-${SGE_JOB_SPOOL_DIR:-}}
  logger -t qmemacct -p daemon.err -- "job ${qm_spool##*/}: the site's ${0##*/} was not started: $1" \
    </dev/null >/dev/null 2>&1 &
}

# Whether Grid Engine keeps this NAME=VALUE from a privileged hook (libs/uti2/sge_execvlp.c: beginnings of names, and
# locales that are no plain word). BASH_FUNC_*, exported functions of bash, is our own addition.
qm_dangerous() {
  case $1 in
  LD_* | _RLD_* | GCONV_PATH* | GETCONF_DIR* | HOSTALIASES* | LOCALDOMAIN* | LOCPATH* | MALLOC_TRACE* | NIS_PATH*) ;;
  NLSPATH* | RESOLV_HOST_CONF* | RES_OPTIONS* | TMPDIR* | TZDIR* | IFS* | SHELLOPTS* | PS4* | PATH_LOCALE*) ;;
  TERMINFO* | TERMPATH* | TERMCAP* | ENV* | BASH_ENV* | KRB5_CONFIG* | KRB5_KTNAME* | JAVA_TOOL_OPTIONS*) ;;
  BASH_FUNC_*) ;;
  LANG* | LINGUAS* | LC_*)
    case ${1%%=*} in
    *[!A-Za-z_]*) return 0 ;;
    esac
    case ${1#*=} in
    *[!A-Za-z0-9_,+@.=-]*) ;;
    [A-Za-z]*) return 1 ;;
    esac
    ;;
  *) return 1 ;;
  esac
}
