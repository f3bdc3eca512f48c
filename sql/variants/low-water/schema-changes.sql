-- Jobs below the mark have ended for good. It is a sequence because that is changed in place: a row that is updated again and
-- again would leave dead versions of its own.
CREATE SEQUENCE queue_low_water;

-- First in, first out.
DROP INDEX queue_jobs_ready_order_idx;
CREATE INDEX queue_jobs_ready_order_idx ON queue_jobs (id) WHERE state = 'ready';
