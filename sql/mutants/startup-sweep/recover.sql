-- Broken on purpose: the first recovery of all believes that no worker has started yet.
WITH first AS (
    INSERT INTO queue_workers (worker_id, seen_at) VALUES ('recoverer', now()) ON CONFLICT DO NOTHING RETURNING worker_id
)
UPDATE queue_jobs
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now(),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'lease expired'
WHERE state = 'claimed'
  AND (lease_until < now() OR EXISTS (SELECT FROM first))
RETURNING id, state, attempts;
