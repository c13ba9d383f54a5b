"""The runs of a class: described as plain data, kept, and run here or on a cluster."""
