"""Reviews of designs."""
