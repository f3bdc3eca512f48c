INSERT INTO queue_groups (group_name, max_running)
VALUES ('even', 2), ('odd', 2);

-- Jobs 1 to :jobs, all available at once; created_at gives them their order.
INSERT INTO queue_jobs (id, priority, payload, state, available_at, created_at, max_attempts)
SELECT n, 0, 'synthetic-job-' || n, 'ready',
       timestamptz '2026-09-22 09:00:00+03',
       timestamptz '2026-09-22 08:00:00+03' + n * interval '1 second',
       :max_attempts
FROM generate_series(1, :jobs) AS n;
