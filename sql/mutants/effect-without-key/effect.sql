-- Broken on purpose: no key, so nothing conflicts.
INSERT INTO synthetic_effects (job_id, first_worker, first_attempt)
VALUES (:'job_id', :'worker_id', :attempt)
RETURNING job_id;
