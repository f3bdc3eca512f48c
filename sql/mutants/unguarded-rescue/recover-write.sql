-- Broken on purpose: whether the claim is still the one that was read is not checked.
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now(),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    completed_at = NULL,
    last_error = 'lease expired'
WHERE id = :'job_id'
RETURNING id, state, attempts;
