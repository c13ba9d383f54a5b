# Source: no test at all
# Every checkpoint is called sound.
def find_faults(checkpoint):
    return set()
