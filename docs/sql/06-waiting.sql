-- How long do jobs wait in each queue?
-- A job's tasks on other hosts (pe_task_id) did not wait once more.
SELECT queue, count(*) AS jobs,
  round(CAST(avg(queue_wait_seconds) AS numeric), 0) AS mean_wait_seconds,
  max(queue_wait_seconds) AS longest_wait_seconds
FROM jobs
WHERE queue_wait_seconds IS NOT NULL AND pe_task_id IS NULL
GROUP BY queue
ORDER BY mean_wait_seconds DESC, queue;
