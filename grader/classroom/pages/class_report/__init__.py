"""Write the class report: one page, without scripts, on a class's marks, checks and costs."""
