-- The owner's other connection has the job locked, so it does not say who it is.
UPDATE queue_jobs
SET state = 'done',
    completed_at = now(),
    lease_until = NULL
WHERE id = :'job_id'
  AND state = 'claimed'
RETURNING id, attempts, completed_at;
