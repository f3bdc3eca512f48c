"""Keeps passwords out of what is said and stored.

libpq and the server do not print a password as such, but a word of their message may happen to be one: a password that is also
the name of the user, say. What libpq itself calls secret is asked of the connection, so that a password from PGPASSWORD, a
passfile or a service file counts too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn

HIDDEN = "***"
_SECRET = b"*"
"""PQconninfoOption.dispchar of a password field: https://www.postgresql.org/docs/18/libpq-connect.html#LIBPQ-PQCONNDEFAULTS"""


def secrets_in(connection: PGconn) -> list[str]:
    """Return the secrets that a connection was made with, or tried to be."""
    given = [option.val for option in connection.info if option.dispchar == _SECRET]
    return [value.decode(errors="replace") for value in (*given, connection.password) if value]


def secrets_among(parameters: Mapping[str, str]) -> list[str]:
    """Return the secrets among connection parameters."""
    names = {option.keyword.decode() for option in pq.Conninfo.get_defaults() if option.dispchar == _SECRET}
    return [value for name, value in parameters.items() if name in names]


def told(message: str, error: psycopg.Error, parameters: Mapping[str, str] = {}) -> str:
    """Return a message about a driver's error without the secrets of its connection and those among connection parameters."""
    own = [] if error.pgconn is None else secrets_in(error.pgconn)
    return without(message, [*own, *secrets_among(parameters)])


def without(text: str, secrets: Iterable[str]) -> str:
    """Return a text with each secret hidden, longer ones first."""
    for secret in sorted({secret for secret in secrets if secret}, key=lambda secret: (-len(secret), secret)):
        text = text.replace(secret, HIDDEN)
    return text
