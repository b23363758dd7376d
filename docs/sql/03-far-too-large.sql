-- Which programs never used a quarter of what was requested for them?
-- A parallel job with tasks of its own (pe_task_id), or on several hosts, is left out: each record has a part of it.
SELECT owner, job_name, count(*) AS runs,
  max(peak_rss_lower_bytes) AS most_used_bytes, min(request_limit_bytes) AS least_limit_bytes
FROM jobs
WHERE peak_rss_lower_bytes IS NOT NULL AND request_limit_bytes IS NOT NULL AND status = 'finished'
  AND (slots IS NULL OR slots <= host_slots)
  AND (cluster, job_id) NOT IN (SELECT cluster, job_id FROM jobs WHERE pe_task_id IS NOT NULL)
GROUP BY owner, job_name
HAVING 4 * max(peak_rss_lower_bytes) < min(request_limit_bytes)
ORDER BY runs DESC, owner, job_name
LIMIT 50;
