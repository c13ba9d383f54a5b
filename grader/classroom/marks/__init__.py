"""The marks of a class: what counts, the rows of the report, and the files for other programs."""
