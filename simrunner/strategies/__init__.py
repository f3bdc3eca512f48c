"""Who takes the next step: one file per strategy, one literal registry."""
