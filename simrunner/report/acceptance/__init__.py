"""The acceptance of a design: every experiment, what it showed, the evidence, and one decision."""
