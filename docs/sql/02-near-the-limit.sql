-- Which jobs came within 5 % of their memory limit?
-- They may fail next time with a little more data.
SELECT job_id, task_id, owner, job_name, host, peak_rss_lower_bytes, h_vmem_limit_bytes
FROM jobs
WHERE memory_efficiency >= 0.95 AND status = 'finished'
ORDER BY memory_efficiency DESC, job_id, task_id
LIMIT 50;
