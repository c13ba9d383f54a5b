"""Write the pages that people read: the feedback for a student, and the report on the class."""
