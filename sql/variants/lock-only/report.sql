SELECT state, count(*) AS jobs, min(available_at) AS oldest_available_at, max(attempts) AS most_attempts
FROM queue_jobs
GROUP BY state
ORDER BY state;
