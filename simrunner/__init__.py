"""simrunner: a deterministic multi-process simulation runner for PostgreSQL job queues."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("simrunner")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+source"
