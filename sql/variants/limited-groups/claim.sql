-- Whoever claims a job of a group has the group's row locked until its COMMIT, so the claims of a group come one after another.
SELECT job.id AS job_id
FROM queue_jobs AS job
JOIN queue_groups AS its USING (group_name)
WHERE job.state = 'ready'
  AND job.available_at <= now()
  AND (SELECT count(*) FROM queue_jobs AS other WHERE other.group_name = job.group_name AND other.state = 'claimed')
      < its.max_running
ORDER BY job.priority DESC, job.available_at, job.created_at, job.id
LIMIT :batch
FOR UPDATE SKIP LOCKED;

-- A statement of its own has a snapshot of its own, taken with the group's row locked: it counts every claim that has committed.
UPDATE queue_jobs AS job
SET state = 'claimed',
    claimed_by = :'worker_id',
    claimed_at = now(),
    claim_token = :'token',
    lease_until = now() + make_interval(secs => :lease_ms / 1000.0),
    attempts = job.attempts + 1
FROM queue_groups AS its
WHERE job.id = :'job_id'
  AND job.state = 'ready'
  AND its.group_name = job.group_name
  AND (SELECT count(*) FROM queue_jobs AS other WHERE other.group_name = job.group_name AND other.state = 'claimed')
      < its.max_running
RETURNING job.id, job.payload, job.claimed_by, job.claimed_at, job.claim_token, job.lease_until, job.attempts;
