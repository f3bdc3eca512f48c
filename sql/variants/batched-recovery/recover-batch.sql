-- Some lapsed claims, without those that somebody has locked: one locked row keeps nobody else's job waiting. It may come back
-- empty although such a row has lapsed, so it is followed by a pass that waits.
WITH lapsed AS (
    SELECT id
    FROM queue_jobs
    WHERE state = 'claimed'
      AND lease_until < now()
    ORDER BY lease_until, id
    LIMIT :batch
    FOR UPDATE SKIP LOCKED
)
UPDATE queue_jobs AS job
SET state = CASE WHEN job.attempts >= job.max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now(),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'lease expired'
FROM lapsed
WHERE job.id = lapsed.id
RETURNING job.id, job.state, job.attempts;
