"""Score what a notebook did, and explain each lost point."""
