-- Broken on purpose: the lease is not looked at.
UPDATE queue_jobs
SET state = 'done',
    completed_at = now(),
    lease_until = NULL
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claimed_by = :'worker_id'
  AND claim_token = :'token'
RETURNING id, attempts, completed_at;
