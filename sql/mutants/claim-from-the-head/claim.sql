-- Broken on purpose: the mark is not heeded. The oldest eligible jobs are found behind whatever is left of older ones.
WITH candidate AS (
    SELECT id
    FROM queue_jobs
    WHERE state = 'ready'
      AND available_at <= now()
    ORDER BY id
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
