SELECT id AS job, available_at - make_interval(secs => 10 * priority) AS due_at, created_at, id
FROM queue_jobs
WHERE state = 'ready'
  AND available_at <= :'as_of'
ORDER BY due_at, created_at, id;
