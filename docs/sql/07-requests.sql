-- What memory is requested, by which complex, and how much?
-- A limit that is NULL is none: unlimited.
SELECT complex, per, count(*) AS records,
  round(CAST(avg(request_bytes) AS numeric), 0) AS mean_request_bytes, max(limit_bytes) AS largest_limit_bytes
FROM requests
GROUP BY complex, per
ORDER BY records DESC, complex, per;
