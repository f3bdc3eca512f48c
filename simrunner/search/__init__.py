"""Exploring many schedules: replay, recheck, shrink, export."""
