"""What goes wrong and when: one file per fault, one literal registry."""
