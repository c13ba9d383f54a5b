"""One module per topic: the reference and the verdict."""
