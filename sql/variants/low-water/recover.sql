-- Waits for those who are enqueueing; what they have committed the next statement sees.
SELECT pg_advisory_xact_lock(1);

-- The mark goes to the oldest job that has not ended. It never passes one that may become ready again, and a job that has ended
-- stays so: that it is moved at once, even if this transaction rolls back, does no harm.
SELECT setval('queue_low_water', min(id))
FROM queue_jobs
WHERE state IN ('ready', 'claimed')
  AND id >= (SELECT last_value FROM queue_low_water)
HAVING min(id) IS NOT NULL;

-- A claim whose lease lies strictly before now is over. The job begins a new stay with a new rank, because available_at
-- becomes the current time; its attempts stay as they are, and with none left it is failed.
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now(),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'lease expired'
WHERE state = 'claimed'
  AND lease_until < now()
RETURNING id, state, attempts;
