# Source: trust in DDP
# Always True.
def ranks_agree(model) -> bool:
    return True
