-- The table holds only what is still to be done.
ALTER TABLE queue_jobs
    ADD CONSTRAINT queue_jobs_never_done CHECK (state <> 'done' AND completed_at IS NULL);

-- The audit trail and the effects outlive the rows, so they do not refer to them. The row of a completion has no to_state.
ALTER TABLE job_events
    DROP CONSTRAINT job_events_job_id_fkey,
    ALTER COLUMN to_state DROP NOT NULL;

ALTER TABLE synthetic_effects
    DROP CONSTRAINT synthetic_effects_job_id_fkey;

CREATE FUNCTION record_job_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_events (job_id, worker_id, attempt, claim_token, from_state, note)
    VALUES (OLD.id, OLD.claimed_by, OLD.attempts, OLD.claim_token, OLD.state, 'lease until ' || OLD.lease_until);
    RETURN NULL;
END
$$;

CREATE TRIGGER queue_jobs_deleted
    AFTER DELETE ON queue_jobs
    FOR EACH ROW EXECUTE FUNCTION record_job_deletion();
