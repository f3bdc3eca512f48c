-- Who has claimed a job has it locked for as long as it lives: what can be locked has nobody any more.
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now(),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'its session is gone'
WHERE state = 'claimed'
  AND CASE WHEN state = 'claimed' THEN pg_try_advisory_xact_lock(id) ELSE false END
RETURNING id, state, attempts;
