"""Runs PostgreSQL isolation specs over libpq's asynchronous calls and prints what isolationtester prints."""
