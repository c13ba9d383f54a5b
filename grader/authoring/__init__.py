"""Build released notebooks from the lessons' sources, and prove that their checks hold; without torch."""
