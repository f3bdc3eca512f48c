-- Broken on purpose: what others have claimed and not yet committed is passed over as locked, and not counted.
WITH candidate AS (
    SELECT job.id
    FROM queue_jobs AS job
    JOIN queue_groups AS its USING (group_name)
    WHERE job.state = 'ready'
      AND job.available_at <= now()
      AND (SELECT count(*) FROM queue_jobs AS other WHERE other.group_name = job.group_name AND other.state = 'claimed')
          < its.max_running
    ORDER BY job.priority DESC, job.available_at, job.created_at, job.id
    LIMIT :batch
    FOR UPDATE OF job SKIP LOCKED
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
