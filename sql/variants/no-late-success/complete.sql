-- No row back means: no longer the owner, or too late.
UPDATE queue_jobs
SET state = 'done',
    completed_at = now(),
    lease_until = NULL
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claimed_by = :'worker_id'
  AND claim_token = :'token'
  AND lease_until >= now()
RETURNING id, attempts, completed_at;
