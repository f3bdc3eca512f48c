-- The claims whose lease has lapsed. Nothing is locked: what becomes of them until the write is the write's business.
SELECT id, claim_token, attempts
FROM queue_jobs
WHERE state = 'claimed'
  AND lease_until < now()
ORDER BY id;
