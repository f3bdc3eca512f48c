-- Groups of which only so many jobs may run at a time.
CREATE TABLE queue_groups (
    group_name  text PRIMARY KEY,
    max_running integer NOT NULL CHECK (max_running > 0)
);

ALTER TABLE queue_jobs
    ADD COLUMN group_name text NOT NULL GENERATED ALWAYS AS (CASE id % 2 WHEN 0 THEN 'even' ELSE 'odd' END) STORED;

CREATE INDEX queue_jobs_running_idx ON queue_jobs (group_name) WHERE state = 'claimed';
