-- Nobody moves the mark while this is open: it could pass a job that it does not see yet.
SELECT pg_advisory_xact_lock_shared(1);

INSERT INTO queue_jobs (id, priority, payload, state, available_at, created_at, max_attempts)
VALUES (:'job_id', :priority, :'payload', 'ready', now(), now(), :max_attempts)
RETURNING id;
