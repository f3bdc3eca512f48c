-- The lock may have been lost with its connection, without a word: the token says whether the claim is still the owner's.
UPDATE queue_jobs
SET state = 'done',
    completed_at = now(),
    lease_until = NULL
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claimed_by = :'worker_id'
  AND claim_token = :'token'
RETURNING id, attempts, completed_at;
