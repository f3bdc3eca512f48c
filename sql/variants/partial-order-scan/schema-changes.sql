-- Candidates are found by a scan and sorted.
DROP INDEX queue_jobs_ready_order_idx;
