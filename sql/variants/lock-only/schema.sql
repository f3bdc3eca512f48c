-- A queue without owners, tokens and leases: whoever holds the row lock has the job, as long as its transaction lasts.

CREATE TABLE queue_jobs (
    id           bigint PRIMARY KEY,
    priority     integer NOT NULL DEFAULT 0,
    payload      text NOT NULL,
    state        text NOT NULL CHECK (state IN ('ready', 'done', 'failed')),
    available_at timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    attempts     integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL CHECK (max_attempts > 0),
    completed_at timestamptz,
    last_error   text
);

-- Mirrors the predicate and the order of the claim.
CREATE INDEX queue_jobs_ready_order_idx
    ON queue_jobs (priority DESC, available_at, created_at, id)
    WHERE state = 'ready';

CREATE TABLE job_events (
    event_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id      bigint NOT NULL REFERENCES queue_jobs (id),
    attempt     integer NOT NULL,
    from_state  text,
    to_state    text NOT NULL,
    event_at    timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    note        text
);

CREATE TABLE synthetic_effects (
    job_id        bigint PRIMARY KEY REFERENCES queue_jobs (id),
    first_worker  text NOT NULL,
    first_attempt integer NOT NULL,
    recorded_at   timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE FUNCTION record_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_events (job_id, attempt, from_state, to_state, note)
    VALUES (NEW.id, NEW.attempts, CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.state, NEW.last_error);
    RETURN NULL;
END
$$;

CREATE TRIGGER queue_jobs_inserted
    AFTER INSERT ON queue_jobs
    FOR EACH ROW EXECUTE FUNCTION record_job_event();

-- A failed attempt leaves the job ready and is an event all the same.
CREATE TRIGGER queue_jobs_changed
    AFTER UPDATE ON queue_jobs
    FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.attempts IS DISTINCT FROM NEW.attempts)
    EXECUTE FUNCTION record_job_event();
