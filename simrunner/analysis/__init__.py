"""History -> findings -> root cause -> verdict. No database."""
