"""nbgrader's gradebook, and the steps and converters that fill it."""
