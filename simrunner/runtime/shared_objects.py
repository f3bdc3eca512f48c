"""What a run may leave in an embedded cluster outside its database: databases of killed runs, roles, settings of roles."""

from __future__ import annotations

import psycopg

from simrunner.runtime.admin import execute, texts

DATABASE_PREFIX = "simrunner_run_"
"""Names of databases that simrunner creates begin so."""

_FORGET = """
DO $$
DECLARE
    role text;
BEGIN
    FOR role IN SELECT rolname FROM pg_roles WHERE oid >= 16384 LOOP  -- FirstNormalObjectId: not made by initdb
        BEGIN
            EXECUTE format('DROP ROLE %I', role);
        EXCEPTION WHEN dependent_objects_still_exist THEN  -- it owns a database of somebody else
            NULL;
        END;
    END LOOP;
    FOR role IN SELECT rolname FROM pg_roles JOIN pg_db_role_setting ON setrole = pg_roles.oid LOOP
        EXECUTE format('ALTER ROLE %I RESET ALL', role);
    END LOOP;
    IF EXISTS (SELECT FROM pg_db_role_setting WHERE setrole = 0 AND setdatabase = 0) THEN
        ALTER ROLE ALL RESET ALL;
    END IF;
END
$$
"""


def drop_leftovers(connection: psycopg.Connection) -> list[str]:
    """Drop the databases of killed runs, those that their designs made, and what they left besides. Returns their names.

    All but initdb's (FirstNormalObjectId) and the template, to which nobody can connect.
    """
    names = texts(connection, "SELECT datname FROM pg_database WHERE oid >= 16384 AND datallowconn ORDER BY datname")
    for name in names:
        execute(connection, "DROP DATABASE {} WITH (FORCE)", name)
    forget_roles(connection)
    return names


def forget_roles(connection: psycopg.Connection) -> None:
    """Drop roles that a design created, and settings that it gave to roles. Its database must be gone."""
    execute(connection, _FORGET)
