"""The invariants: one file each or for a closely related pair, and one literal registry. Pure functions of a history."""
