"""What a design's SQL tells without being run: pure functions of a design, one file per idea, one literal registry.

A remark is no finding: it names a form that is known to fail, and a run shows whether it does. What sqlglot cannot read is not
reviewed, and that is said.
"""
