-- The primary key exposes a second attempt: it returns no row.
INSERT INTO synthetic_effects (job_id, first_worker, first_attempt)
VALUES (:'job_id', :'worker_id', :attempt)
ON CONFLICT (job_id) DO NOTHING
RETURNING job_id;
