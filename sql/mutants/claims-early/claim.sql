-- Broken on purpose: whether the job is due is not asked.
WITH candidate AS (
    SELECT id
    FROM queue_jobs
    WHERE state = 'ready'
    ORDER BY priority DESC, available_at, created_at, id
    LIMIT :batch
    FOR UPDATE SKIP LOCKED
)
UPDATE queue_jobs AS job
SET state = 'claimed',
    claimed_by = :'worker_id',
    claimed_at = now(),
    claim_token = :'token',
    lease_until = now() + make_interval(secs => :lease_ms / 1000.0),
    attempts = job.attempts + 1
FROM candidate
WHERE job.id = candidate.id
RETURNING job.id, job.payload, job.claimed_by, job.claimed_at, job.claim_token, job.lease_until, job.attempts;
