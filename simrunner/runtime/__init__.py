"""The only layer that starts processes, sends signals or talks to PostgreSQL."""
