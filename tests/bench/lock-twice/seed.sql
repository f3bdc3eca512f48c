INSERT INTO jobs
SELECT n, 'payload-' || n, 'ready'
FROM generate_series(1, :jobs) AS n;
