-- An unrelated change: it moves the row in the table, not in the order.
UPDATE queue_jobs
SET payload = :'payload'
WHERE id = :'job_id'
RETURNING id;
