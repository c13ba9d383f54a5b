"""What the checks of each lesson run on and record: inputs only, no answers."""
