"""What students hand in: who they are, which file counts, and which of its cells belong to the lesson."""
