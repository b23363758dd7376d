-- On which hosts do jobs end badly?
-- A host whose share is far above that of the others may be ill.
SELECT host, count(*) AS records,
  sum(CASE WHEN exit_status <> 0 OR signal <> 0 OR failed <> 0 THEN 1 ELSE 0 END) AS bad
FROM jobs
WHERE ended_at IS NOT NULL
GROUP BY host
HAVING sum(CASE WHEN exit_status <> 0 OR signal <> 0 OR failed <> 0 THEN 1 ELSE 0 END) > 0
ORDER BY bad DESC, host
LIMIT 20;
