SELECT job_id AS job, attempt, NULL::text AS token, from_state, to_state
FROM job_events
ORDER BY event_id;
