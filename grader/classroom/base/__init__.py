"""The base of all other packages: errors, files, tables, settings, and the rows of the marks."""
