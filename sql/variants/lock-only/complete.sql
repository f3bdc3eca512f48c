-- In the transaction of the claim. No row back means: the job was not claimed by it, and somebody else has ended it.
UPDATE queue_jobs
SET state = 'done',
    completed_at = now()
WHERE id = :'job_id'
  AND state = 'ready'
RETURNING id, attempts, completed_at;
