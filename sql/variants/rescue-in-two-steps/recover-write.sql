-- One of the claims that were read. It is over only if it is still the same claim and nobody has renewed it.
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now(),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'lease expired'
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claim_token = :'token'
  AND lease_until < now()
RETURNING id, state, attempts;
