"""PostgreSQL isolation specs: their grammar, what they mean, and how results are printed. Pure: no database, no output.

The format is explained in src/test/isolation/README of PostgreSQL's sources.
"""
