"""One module or package per topic: the cases that its checks are run on, functions of a seed."""
