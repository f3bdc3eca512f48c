"""Tests of what goes wrong and when. No database."""
