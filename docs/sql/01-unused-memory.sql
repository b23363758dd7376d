-- Who leaves most of the requested memory unused?
-- Sums of days, so that years take no longer than weeks. Only records of jobs with a request that know what was used count.
SELECT key AS owner,
  round(CAST(sum(requested_with_used_gib_hours) AS numeric), 1) AS requested_gib_hours,
  round(CAST(sum(requested_with_used_gib_hours - used_with_request_gib_hours) AS numeric), 1) AS unused_gib_hours
FROM daily
WHERE dimension = 'owner' AND day >= '2026-11-01' AND day < '2026-12-01'
GROUP BY key
ORDER BY unused_gib_hours DESC, key
LIMIT 20;
