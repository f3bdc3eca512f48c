-- Makes room for the virtual clock in pg_catalog itself. Superuser only, and only in a database that simrunner made.
-- Renamed functions keep their OIDs: the system's own views, bound when they were made, still read the real clock.
-- The functions of functions.sql take the old names; they also catch calls such as pg_catalog.now().

ALTER FUNCTION pg_catalog.now() RENAME TO simrunner_real_now;
ALTER FUNCTION pg_catalog.transaction_timestamp() RENAME TO simrunner_real_transaction_timestamp;
ALTER FUNCTION pg_catalog.statement_timestamp() RENAME TO simrunner_real_statement_timestamp;
ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO simrunner_real_clock_timestamp;
ALTER FUNCTION pg_catalog.timeofday() RENAME TO simrunner_real_timeofday;
ALTER FUNCTION pg_catalog.age(timestamptz) RENAME TO simrunner_real_age;
ALTER FUNCTION pg_catalog.age(timestamp) RENAME TO simrunner_real_age;
ALTER FUNCTION pg_catalog.pg_sleep_until(timestamptz) RENAME TO simrunner_real_sleep_until;
ALTER FUNCTION pg_catalog.gen_random_uuid() RENAME TO simrunner_real_random_uuid;
SET search_path = pg_catalog;
