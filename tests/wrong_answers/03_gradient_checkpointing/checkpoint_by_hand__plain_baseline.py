# Source: the plain block
# Nothing is checkpointed.
def checkpoint_by_hand(block, inputs):
    return block(inputs)
