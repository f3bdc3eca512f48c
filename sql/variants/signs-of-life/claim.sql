-- Every claim is a sign of life.
INSERT INTO queue_workers (worker_id, seen_at)
VALUES (:'worker_id', now())
ON CONFLICT (worker_id) DO UPDATE SET seen_at = excluded.seen_at;

-- One short transaction: the highest-ranked eligible jobs that nobody has locked become the worker's.
-- Work begins only after COMMIT.
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
    lease_until = now() + make_interval(secs => :lease_ms / 1000.0),
    attempts = job.attempts + 1
FROM candidate
WHERE job.id = candidate.id
RETURNING job.id, job.payload, job.claimed_by, job.claimed_at, job.claim_token, job.lease_until, job.attempts;
