-- Broken on purpose: the read takes no lock and the write does not check that the job is still ready.
SELECT id AS job_id
FROM queue_jobs
WHERE state = 'ready'
  AND available_at <= now()
ORDER BY priority DESC, available_at, created_at, id
LIMIT :batch;

UPDATE queue_jobs
SET state = 'claimed',
    claimed_by = :'worker_id',
    claimed_at = now(),
    claim_token = :'token',
    lease_until = now() + make_interval(secs => :lease_ms / 1000.0),
    attempts = attempts + 1
WHERE id = :'job_id'
  AND completed_at IS NULL
RETURNING id, payload, claimed_by, claimed_at, claim_token, lease_until, attempts;
