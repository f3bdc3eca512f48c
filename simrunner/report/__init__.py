"""What a person reads: verdict tables, witnesses, replay lines."""
