INSERT INTO queue_jobs (id, priority, payload, state, available_at, created_at, max_attempts)
VALUES (:'job_id', :priority, :'payload', 'ready', now(), now(), :max_attempts)
RETURNING id;
