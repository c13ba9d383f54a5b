"""What every other package of the classroom builds on: errors, files, tables, settings, and the rows of the marks."""
