"""Reads designs (`sql/<design>/`) and workloads (`workloads/*.toml`) into model objects. No database.

Every mistake in a file is a DesignError or WorkloadError that names the file, the line and what was expected.
"""

from __future__ import annotations

from simrunner.config.design import list_designs, load_design
from simrunner.config.escapes import escapes
from simrunner.config.place import place_of
from simrunner.config.workload import list_workloads, load_workload, place_of_key

__all__ = ["escapes", "list_designs", "list_workloads", "load_design", "load_workload", "place_of", "place_of_key"]
