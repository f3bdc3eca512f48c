-- What this connection has locked for jobs that are done is let go here: their completion was on another.
SELECT pg_advisory_unlock_all();

-- The lock lasts until this connection's session ends, however it ends.
WITH candidate AS (
    SELECT id
    FROM queue_jobs
    WHERE state = 'ready'
      AND available_at <= now()
    ORDER BY priority DESC, available_at, created_at, id
    LIMIT :batch
    FOR UPDATE SKIP LOCKED
)
UPDATE queue_jobs AS job
SET state = 'claimed',
    claimed_by = :'worker_id',
    claimed_at = now(),
    claim_token = :'token',
    attempts = job.attempts + 1
FROM candidate
WHERE job.id = candidate.id
  AND pg_try_advisory_lock(candidate.id)
RETURNING job.id, job.payload, job.claimed_by, job.claimed_at, job.claim_token, job.lease_until, job.attempts;
