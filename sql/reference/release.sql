-- The owner gives the job back. The claim counts as an attempt, so a job whose attempts are used up ends as failed.
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now() + make_interval(secs => :retry_delay_ms / 1000.0),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'released by its owner'
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claimed_by = :'worker_id'
  AND claim_token = :'token'
RETURNING id, state, attempts, available_at;
