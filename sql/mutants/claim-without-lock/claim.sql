-- Broken on purpose: nothing keeps another worker from reading the same job.
SELECT id, payload, attempts + 1 AS attempt
FROM queue_jobs
WHERE state = 'ready'
  AND available_at <= now()
ORDER BY priority DESC, available_at, created_at, id
LIMIT :batch;
