"""The history of a run: Arrow schema, canonical hash, builder for hand-written ones, views by job and by seq. No I/O."""
