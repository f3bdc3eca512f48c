-- Broken on purpose: a lapsed claim is left alone as long as a process of its owner's name shows signs of life.
UPDATE queue_jobs AS job
SET state = CASE WHEN attempts >= max_attempts THEN 'failed' ELSE 'ready' END,
    available_at = now(),
    claimed_by = NULL,
    claimed_at = NULL,
    claim_token = NULL,
    lease_until = NULL,
    last_error = 'lease expired'
WHERE state = 'claimed'
  AND lease_until < now()
  AND NOT EXISTS (
      SELECT FROM queue_workers
      WHERE worker_id = job.claimed_by
        AND seen_at > now() - make_interval(secs => :lease_ms / 1000.0)
  )
RETURNING id, state, attempts;
