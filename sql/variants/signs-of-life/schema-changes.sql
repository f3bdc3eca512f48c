-- Who was heard of last, and when.
CREATE TABLE queue_workers (
    worker_id text PRIMARY KEY,
    seen_at   timestamptz NOT NULL
);
