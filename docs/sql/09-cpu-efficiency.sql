-- How well does each project use the slots that it is given?
-- Sums of days have the slots of each host of a parallel job once, however many records it has there.
SELECT key AS project, sum(records) AS records,
  round(CAST(sum(cpu_seconds) / sum(slot_seconds) AS numeric), 3) AS cpu_efficiency
FROM daily
WHERE dimension = 'project' AND slot_seconds > 0
GROUP BY key
ORDER BY cpu_efficiency, project;
