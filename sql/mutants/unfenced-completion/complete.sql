-- Broken on purpose: state, owner and token are not checked.
UPDATE queue_jobs
SET state = 'done',
    completed_at = now(),
    lease_until = NULL
WHERE id = :'job_id'
RETURNING id, attempts, completed_at;
