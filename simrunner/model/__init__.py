"""The vocabulary of a run: states, operations, designs, workloads, decisions, events, verdicts. Standard library only."""
