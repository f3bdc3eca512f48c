"""Reads designs (`sql/<design>/`) and workloads (`workloads/*.toml`) into model objects; every mistake is a clear error. No database."""
