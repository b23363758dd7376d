-- How well does each project use the slots that it is given?
SELECT project, count(*) AS records,
  round(CAST(sum(cpu_seconds) / sum(wallclock_seconds * host_slots) AS numeric), 3) AS cpu_efficiency
FROM jobs
WHERE cpu_seconds IS NOT NULL AND wallclock_seconds > 0 AND host_slots > 0
GROUP BY project
ORDER BY cpu_efficiency, project;
