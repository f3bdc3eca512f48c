-- Broken on purpose: the sub-query takes no lock. Whoever waits for the row re-checks only its id, which is still the same.
UPDATE queue_jobs
SET state = 'claimed',
    claimed_by = :'worker_id',
    claimed_at = now(),
    claim_token = :'token',
    lease_until = now() + make_interval(secs => :lease_ms / 1000.0),
    attempts = attempts + 1
WHERE id = (
    SELECT id
    FROM queue_jobs
    WHERE state = 'ready'
      AND available_at <= now()
    ORDER BY priority DESC, available_at, created_at, id
    LIMIT 1
)
RETURNING id, payload, claimed_by, claimed_at, claim_token, lease_until, attempts;
