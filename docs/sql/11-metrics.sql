-- Which jobs had processes that the kernel killed for memory?
-- Any other metric of whole jobs (qmemacct metrics) is asked for in the same way.
SELECT jobs.job_id, jobs.task_id, jobs.owner, jobs.host, metrics.value AS kills
FROM metrics JOIN jobs ON jobs.record = metrics.record
WHERE metrics.metric = 'cgroup_oom_kills' AND metrics.value > 0
ORDER BY metrics.value DESC, jobs.job_id
LIMIT 50;
