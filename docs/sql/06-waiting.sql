-- How long do jobs wait in each queue?
-- Until they first start: neither a job that was started again nor its tasks on other hosts (pe_task_id) waited once more.
SELECT queue, count(*) AS jobs,
  round(CAST(avg(queue_wait_seconds) AS numeric), 0) AS mean_wait_seconds,
  max(queue_wait_seconds) AS longest_wait_seconds
FROM (
  SELECT queue, queue_wait_seconds,
    row_number() OVER (PARTITION BY cluster, job_id, task_id, submitted_at ORDER BY queue_wait_seconds) AS nth
  FROM jobs
  WHERE queue_wait_seconds IS NOT NULL AND pe_task_id IS NULL
) AS starts
WHERE nth = 1
GROUP BY queue
ORDER BY mean_wait_seconds DESC, queue;
