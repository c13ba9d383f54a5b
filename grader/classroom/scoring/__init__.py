"""Points from what a notebook did."""
