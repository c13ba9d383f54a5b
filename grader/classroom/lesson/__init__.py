"""A lesson as its class has it: the master notebook, its checks, and its hidden tests."""
