-- Broken on purpose: only the state is reset.
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now() + make_interval(secs => :retry_delay_ms / 1000.0),
    last_error = 'released by its owner'
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claimed_by = :'worker_id'
  AND claim_token = :'token'
RETURNING id, state, attempts, available_at;
