"""Where a learner's code runs: apart from the machine, the class, and everything that judges it."""
