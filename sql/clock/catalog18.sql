-- As catalog.sql, for what PostgreSQL 18 added.

ALTER FUNCTION pg_catalog.uuidv4() RENAME TO simrunner_real_uuidv4;
ALTER FUNCTION pg_catalog.uuidv7() RENAME TO simrunner_real_uuidv7;
ALTER FUNCTION pg_catalog.uuidv7(interval) RENAME TO simrunner_real_uuidv7;
