"""Fill and read nbgrader's gradebook, with the steps that nbgrader's converters run."""
