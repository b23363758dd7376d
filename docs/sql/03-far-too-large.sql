-- Which programs never used a quarter of what was requested for them?
SELECT owner, job_name, count(*) AS runs,
  max(peak_rss_lower_bytes) AS most_used_bytes, min(h_vmem_limit_bytes) AS least_limit_bytes
FROM jobs
WHERE peak_rss_lower_bytes IS NOT NULL AND h_vmem_limit_bytes IS NOT NULL AND status = 'finished'
GROUP BY owner, job_name
HAVING 4 * max(peak_rss_lower_bytes) < min(h_vmem_limit_bytes)
ORDER BY runs DESC, owner, job_name
LIMIT 50;
