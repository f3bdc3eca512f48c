-- The virtual clock: the time functions, in the first schema of the search_path.
--
-- simrunner.txn_time        what now() tells the transaction
-- simrunner.statement_time  what statement_timestamp() and clock_timestamp() tell; where it was never set, txn_time
--
-- Both are timestamptz texts, set with plain SET. A session without them (an observer, psql) reads the real clock.
-- Volatility is that of the originals, and each body is one expression that the planner inlines: a condition such as
-- available_at <= now() is estimated and indexed as before. Standard bodies bind what they call when they are made, so that
-- no search_path can change their meaning.

CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE COST 1
RETURN coalesce(nullif(current_setting('simrunner.txn_time', true), '')::timestamptz, simrunner_real_now());

CREATE FUNCTION transaction_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE COST 1
RETURN now();

CREATE FUNCTION statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE COST 1
RETURN coalesce(
    nullif(current_setting('simrunner.statement_time', true), '')::timestamptz,
    nullif(current_setting('simrunner.txn_time', true), '')::timestamptz,
    simrunner_real_statement_timestamp()
);

CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE COST 1
RETURN coalesce(
    nullif(current_setting('simrunner.statement_time', true), '')::timestamptz,
    nullif(current_setting('simrunner.txn_time', true), '')::timestamptz,
    simrunner_real_clock_timestamp()
);

CREATE FUNCTION timeofday() RETURNS text LANGUAGE sql VOLATILE PARALLEL SAFE COST 1
RETURN to_char(clock_timestamp(), 'Dy Mon DD HH24:MI:SS.US YYYY TZ');

CREATE FUNCTION age(timestamptz) RETURNS interval LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1
RETURN pg_catalog.age(now()::date::timestamp::timestamptz, $1);

CREATE FUNCTION age(timestamp) RETURNS interval LANGUAGE sql STABLE STRICT PARALLEL SAFE COST 1
RETURN pg_catalog.age(now()::date::timestamp, $1);

-- A sleep is real time; until when is a question to the virtual clock.
CREATE FUNCTION pg_sleep_until(timestamptz) RETURNS void LANGUAGE sql VOLATILE STRICT PARALLEL SAFE COST 1
RETURN pg_sleep(extract(epoch FROM $1 - clock_timestamp())::double precision);
