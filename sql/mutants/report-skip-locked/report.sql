-- Broken on purpose: jobs that somebody has locked are left out, and those that are counted stay locked until the end.
SELECT state, count(*) AS jobs, min(available_at) AS oldest_available_at, max(attempts) AS most_attempts
FROM (
    SELECT state, available_at, attempts
    FROM queue_jobs
    FOR UPDATE SKIP LOCKED
) AS unlocked
GROUP BY state
ORDER BY state;
