-- A claim whose lease lies strictly before now is over. The job begins a new stay with its old rank, because available_at
-- stays as it is; its attempts stay as they are, and with none left it is failed.
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'lease expired'
WHERE state = 'claimed'
  AND lease_until < now()
RETURNING id, state, attempts;
