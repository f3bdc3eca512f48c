"""Writes a run as something that a queue's maintainer can run without simrunner: a spec, a pytest file, psql commands."""
