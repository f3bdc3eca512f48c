"""Makes a failing schedule small: fewest deviations from round-robin, then faults, workers, jobs."""
