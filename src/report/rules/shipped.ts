/**
 * The rules that come with the program. Thresholds are those of the field where it agrees on one (Jobstats and its Job
 * Defense Shield; ClusterCockpit's excessload and lowload), and our own bounds for "far below" and "close" of memory.
 */
export const SHIPPED_RULES = `
[memory-close]
severity = "high"
requires = ["held_share"]
when = "held_share >= 90%"
evidence = "memory was close to its limit: {held_bytes} of {held_limit_bytes} ({held_share})"
hint = "request more: a run that needs a little more is lost"

[swapping]
severity = "high"
requires = ["swap_bytes"]
when = "swap_bytes >= 100MiB and swap_bytes >= 5% * peak_rss_lower_bytes"
evidence = "up to {swap_bytes} of its memory was swapped out; at most {peak_rss_lower_bytes} was in RAM"
hint = "request as much memory as the program needs, or give it less to do at a time"
cost = "taskstats_swap_in_delay_seconds"

[leak]
severity = "high"
requires = ["rising_eighths"]
when = "wallclock_seconds >= 10min and growth_bytes >= 50% * peak_rss_lower_bytes and rising_eighths = 7"
evidence = "memory grew steadily, by {growth_bytes} in {wallclock_seconds} up to {peak_rss_lower_bytes}"
hint = "look for what the program never frees, or how it could work in smaller parts"
cost = "growth_bytes * wallclock_seconds / 2"

[gpu-idle]
severity = "high"
requires = ["gpu_held"]
when = "gpu_held >= 1 and gpu_held_time_seconds >= 5min and gpu_idle_seconds >= 50% * gpu_held_time_seconds"
evidence = "GPUs held: {gpu_held}, for {gpu_held_time_seconds}; idle for {gpu_idle_seconds} of that time"
hint = "check that the program finds the GPU, or request none"
cost = "host_slots * wallclock_seconds * gpu_idle_seconds / gpu_held_time_seconds"

[oversubscribed]
severity = "medium"
when = "active_seconds >= 10s and runnable_threads > 120% * host_slots and runnable_threads - host_slots >= 0.5"
evidence = "{runnable_threads} threads ran or waited for a CPU on average; slots granted: {host_slots}"
hint = "request as many slots as it has threads, or start as many threads as it has slots (OMP_NUM_THREADS=$NSLOTS)"
cost = "max(0, busy_slots - host_slots) * active_seconds"

[serial]
severity = "medium"
when = "host_slots >= 2 and active_seconds >= 10s and runnable_threads >= 0.7 and runnable_threads < 1.2"
evidence = "used one slot of {host_slots} ({busy_slots} busy on average)"
hint = "request one slot with the same total memory, or tell the program to use them all ($NSLOTS)"
cost = "idle_slots * active_seconds"

[idle-cores]
severity = "medium"
when = "active_seconds >= 10s and host_slots - runnable_threads >= 0.9 and runnable_threads < 50% * host_slots and not (host_slots >= 2 and runnable_threads >= 0.7 and runnable_threads < 1.2)"
evidence = "slots kept busy: {busy_slots} of {host_slots} ({cpu_efficiency})"
hint = "find what it waits for; of several slots request fewer, with as much memory"
cost = "idle_slots * active_seconds"

[memory-far-below]
severity = "medium"
requires = ["needed_share"]
when = "succeeded and needed_share < 25%"
evidence = "used {held_bytes} of {held_limit_bytes} ({held_share})"
hint = "request less: others could have used the rest"
cost = "(limit_bytes - needed_bytes) * wallclock_seconds"

[io-bound]
severity = "medium"
requires = ["storage_wait_seconds"]
when = "active_seconds >= 1min and cpu_efficiency < 50% and storage_wait_seconds > cpu_seconds"
evidence = "waited {storage_wait_seconds} for storage and computed {cpu_seconds}"
hint = "read and write fewer and larger pieces, or use the node's own disk ($TMPDIR)"
cost = "min(storage_wait_seconds, idle_slots * active_seconds)"

[swarm]
severity = "low"
requires = ["runs_of_kind"]
when = "wallclock_seconds < 2min and runs_of_kind >= 200 and mean_seconds_of_kind < 2min"
evidence = "one of {runs_of_kind} runs of its kind, {mean_seconds_of_kind} each on average"
hint = "put many of them into one job: starting a job takes the scheduler and the host about as long as running it"
cost = "host_slots * wallclock_seconds"

[h-rt-too-long]
severity = "low"
requires = ["h_rt_seconds"]
when = "succeeded and h_rt_seconds >= 1h and wallclock_seconds < 10% * h_rt_seconds"
evidence = "ran {wallclock_seconds} of {h_rt_seconds} requested (h_rt)"
hint = "request less time: short jobs are started in gaps before long ones"
cost = "host_slots * (h_rt_seconds - wallclock_seconds)"
`;
