# Source: ranks on their own
# Nothing is averaged.
def average_parameters(model) -> None:
    pass
