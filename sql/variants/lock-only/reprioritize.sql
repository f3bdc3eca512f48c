-- A person changes a job's rank while it waits.
UPDATE queue_jobs
SET priority = :priority
WHERE id = :'job_id'
RETURNING id;
