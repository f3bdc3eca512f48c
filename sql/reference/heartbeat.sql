UPDATE queue_jobs
SET lease_until = now() + make_interval(secs => :lease_ms / 1000.0)
WHERE id = :'job_id'
  AND state = 'claimed'
  AND claimed_by = :'worker_id'
  AND claim_token = :'token'
RETURNING id, lease_until;
