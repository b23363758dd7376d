-- Which array jobs have tasks that need very different memory?
-- All tasks of an array have one request: such arrays are better submitted in two.
SELECT cluster, job_id, owner, count(DISTINCT task_id) AS tasks,
  min(peak_rss_lower_bytes) AS least_peak_bytes, max(peak_rss_lower_bytes) AS most_peak_bytes
FROM jobs
WHERE task_id IS NOT NULL AND status = 'finished'
GROUP BY cluster, job_id, owner
HAVING max(peak_rss_lower_bytes) > 4 * min(peak_rss_lower_bytes)
ORDER BY cluster, job_id;
