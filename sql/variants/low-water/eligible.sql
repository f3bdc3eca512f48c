SELECT id AS job
FROM queue_jobs
WHERE state = 'ready'
  AND available_at <= :'as_of'
ORDER BY id;
