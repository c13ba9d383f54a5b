# Source: the lesson: 2 x 65,783,042 numbers and 104 counters
# The state of DistilBERT with AdamW stands for every state.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    return 4 * (2 * 65_783_042 + 104)
