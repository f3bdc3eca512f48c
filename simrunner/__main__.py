"""`python -m simrunner` is `simrunner`."""

from simrunner.cli import main

main(prog_name="simrunner")
