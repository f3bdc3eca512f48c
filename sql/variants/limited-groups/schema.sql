-- The queue of the SKIP LOCKED laboratory, and groups of which only so many jobs may run at a time.

CREATE TABLE queue_groups (
    group_name  text PRIMARY KEY,
    max_running integer NOT NULL CHECK (max_running > 0)
);

CREATE TABLE queue_jobs (
    id           bigint PRIMARY KEY,
    priority     integer NOT NULL DEFAULT 0,
    payload      text NOT NULL,
    state        text NOT NULL CHECK (state IN ('ready', 'claimed', 'done', 'failed')),
    available_at timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    claimed_by   text,
    claimed_at   timestamptz,
    claim_token  text,
    lease_until  timestamptz,
    attempts     integer NOT NULL DEFAULT 0,
    max_attempts integer NOT NULL CHECK (max_attempts > 0),
    completed_at timestamptz,
    last_error   text,
    group_name   text NOT NULL GENERATED ALWAYS AS (CASE id % 2 WHEN 0 THEN 'even' ELSE 'odd' END) STORED
);

-- Mirrors the predicate and the order of the claim's candidates.
CREATE INDEX queue_jobs_ready_order_idx
    ON queue_jobs (priority DESC, available_at, created_at, id)
    WHERE state = 'ready';

CREATE INDEX queue_jobs_running_idx ON queue_jobs (group_name) WHERE state = 'claimed';

CREATE TABLE job_events (
    event_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id      bigint NOT NULL REFERENCES queue_jobs (id),
    worker_id   text,
    attempt     integer,
    claim_token text,
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

-- Writes the audit row in the transaction of the change: a claim that rolls back leaves none, and the row of a change
-- that ends a claim keeps the owner, the token and the lease which that claim had.
CREATE FUNCTION record_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO job_events (job_id, attempt, from_state, to_state)
        VALUES (NEW.id, NEW.attempts, NULL, NEW.state);
    ELSIF NEW.state = 'claimed' THEN
        INSERT INTO job_events (job_id, worker_id, attempt, claim_token, from_state, to_state)
        VALUES (NEW.id, NEW.claimed_by, NEW.attempts, NEW.claim_token, OLD.state, NEW.state);
    ELSE
        INSERT INTO job_events (job_id, worker_id, attempt, claim_token, from_state, to_state, note)
        VALUES (NEW.id, OLD.claimed_by, NEW.attempts, OLD.claim_token, OLD.state, NEW.state,
                concat_ws('; ', 'lease until ' || OLD.lease_until, NEW.last_error));
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER queue_jobs_inserted
    AFTER INSERT ON queue_jobs
    FOR EACH ROW EXECUTE FUNCTION record_job_event();

-- A renewed lease is no event: only a change of the state or of the claim is.
CREATE TRIGGER queue_jobs_changed
    AFTER UPDATE ON queue_jobs
    FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state OR OLD.claim_token IS DISTINCT FROM NEW.claim_token)
    EXECUTE FUNCTION record_job_event();
