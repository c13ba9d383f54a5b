"""One module per topic: the observation of a learner's answer."""
