-- In the transaction of the claim. Only failures are counted: an attempt that ends with the worker's death leaves no trace.
UPDATE queue_jobs
SET attempts = attempts + 1,
    state = CASE WHEN attempts + 1 >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now() + make_interval(secs => :retry_delay_ms / 1000.0),
    last_error = :'error'
WHERE id = :'job_id'
  AND state = 'ready'
RETURNING id, state, attempts, available_at;
