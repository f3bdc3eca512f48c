-- Broken on purpose: nothing keeps the planner from running the limited sub-query again and again.
UPDATE queue_jobs AS job
SET state = 'claimed',
    claimed_by = :'worker_id',
    claimed_at = now(),
    claim_token = :'token',
    lease_until = now() + make_interval(secs => :lease_ms / 1000.0),
    attempts = job.attempts + 1
WHERE job.id IN (
    SELECT id
    FROM queue_jobs
    WHERE state = 'ready'
      AND available_at <= now()
    ORDER BY priority DESC, available_at, created_at, id
    LIMIT :batch
    FOR UPDATE SKIP LOCKED
)
RETURNING job.id, job.payload, job.claimed_by, job.claimed_at, job.claim_token, job.lease_until, job.attempts;
