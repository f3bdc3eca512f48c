"""Kills simrunner itself at random moments and looks, from outside, at what is left: `python -m tests.torture`."""
