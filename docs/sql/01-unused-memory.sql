-- Who leaves most of the requested memory unused?
-- Sums of days, so that years take no longer than weeks. Unused is what was requested above the peak, times the run
-- time: only records of jobs with a request and a measured peak count.
SELECT key AS owner,
  round(CAST(sum(requested_with_peak_gib_hours) AS numeric), 1) AS requested_gib_hours,
  round(CAST(sum(unused_gib_hours) AS numeric), 1) AS unused_gib_hours
FROM daily
WHERE dimension = 'owner' AND day >= '2026-11-01' AND day < '2026-12-01'
GROUP BY key
ORDER BY unused_gib_hours DESC, key
LIMIT 20;
