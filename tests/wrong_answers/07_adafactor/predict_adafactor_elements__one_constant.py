# Source: a likely slip: one number for all
# 178,712 whatever is asked.
def predict_adafactor_elements(parameters: list, library: str) -> int:
    return 178_712
