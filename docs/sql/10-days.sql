-- How many jobs ran on each day, how many failed, and how many did memory end?
SELECT CAST(day AS text) AS day, cluster, jobs, failed, killed_by_memory, unsampled
FROM daily
WHERE dimension = 'cluster' AND day >= '2026-11-01' AND day < '2026-12-01'
ORDER BY day, cluster;
