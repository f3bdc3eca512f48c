"""Run folders, journal, Parquet writer and reader, repair."""
