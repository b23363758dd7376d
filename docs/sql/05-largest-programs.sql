-- Which programs hold most memory at the peak of their jobs?
SELECT command, count(*) AS records, max(lower_bytes) AS most_bytes
FROM peaks
WHERE quantity = 'rss' AND command IS NOT NULL
GROUP BY command
ORDER BY most_bytes DESC, command
LIMIT 20;
