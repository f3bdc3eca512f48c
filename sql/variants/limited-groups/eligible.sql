SELECT id AS job, priority, available_at, created_at, id
FROM queue_jobs AS job
JOIN queue_groups USING (group_name)
WHERE state = 'ready'
  AND available_at <= :'as_of'
  AND (SELECT count(*) FROM queue_jobs AS other WHERE other.group_name = job.group_name AND other.state = 'claimed') < max_running
ORDER BY priority DESC, available_at, created_at, id;
