"""Tests of who takes the next step. No database."""
