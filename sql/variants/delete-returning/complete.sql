-- The end of a job is the end of its row. No row back means: no longer the owner.
DELETE FROM queue_jobs
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claimed_by = :'worker_id'
  AND claim_token = :'token'
RETURNING id, attempts;
