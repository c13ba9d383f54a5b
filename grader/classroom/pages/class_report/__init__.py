"""The class report: one page with what an instructor wants to know of a class, without scripts."""
