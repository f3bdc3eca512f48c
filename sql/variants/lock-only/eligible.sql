SELECT id AS job, priority, available_at, created_at, id
FROM queue_jobs
WHERE state = 'ready'
  AND available_at <= :'as_of'
ORDER BY priority DESC, available_at, created_at, id;
