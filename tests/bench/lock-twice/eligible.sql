SELECT id AS job
FROM jobs
ORDER BY id;
