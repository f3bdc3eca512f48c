-- One short transaction: the oldest eligible jobs that nobody has locked become the worker's. The search begins at the mark, so
-- that it does not walk over what is left of jobs that have ended. Work begins only after COMMIT.
WITH candidate AS (
    SELECT id
    FROM queue_jobs
    WHERE state = 'ready'
      AND available_at <= now()
      AND id >= (SELECT last_value FROM queue_low_water)
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
