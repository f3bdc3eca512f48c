-- The virtual clock where pg_catalog must be left alone: a schema that stands before pg_catalog in the search_path.
-- It does not catch calls such as pg_catalog.now(), nor functions with a search_path of their own.

CREATE SCHEMA simrunner_clock;
COMMENT ON SCHEMA simrunner_clock IS 'made by simrunner, which drops it and every other schema that it made here';
SET search_path = simrunner_clock, pg_catalog;

CREATE FUNCTION simrunner_real_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE COST 1
RETURN pg_catalog.now();

CREATE FUNCTION simrunner_real_statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE COST 1
RETURN pg_catalog.statement_timestamp();

CREATE FUNCTION simrunner_real_clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE COST 1
RETURN pg_catalog.clock_timestamp();
