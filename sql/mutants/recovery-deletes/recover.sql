-- Broken on purpose: a lapsed claim is no completion.
DELETE FROM queue_jobs
WHERE state = 'claimed'
  AND lease_until < now()
RETURNING id, state, attempts;
