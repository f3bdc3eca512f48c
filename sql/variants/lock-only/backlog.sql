-- :jobs further jobs from id :first_job on, available from the start and created later than the seed.
INSERT INTO queue_jobs (id, priority, payload, state, available_at, created_at, max_attempts)
SELECT n, :priority, 'synthetic-backlog-' || n, 'ready',
       timestamptz '2026-09-22 09:00:00+03',
       timestamptz '2026-09-22 08:00:00+03' + n * interval '1 second',
       :max_attempts
FROM generate_series(:first_job, :first_job + :jobs - 1) AS n;
