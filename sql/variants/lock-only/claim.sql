-- The lock is the claim: nothing is written, and the work is done before COMMIT. If the worker dies, its transaction is
-- rolled back, the lock is gone and the job is as it was: there is nothing to recover.
SELECT id, payload, attempts + 1 AS attempt
FROM queue_jobs
WHERE state = 'ready'
  AND available_at <= now()
ORDER BY priority DESC, available_at, created_at, id
LIMIT :batch
FOR UPDATE SKIP LOCKED;
