SELECT id, payload, state
FROM jobs
ORDER BY id
LIMIT 1
FOR UPDATE;
