# %% answer="all_mantissas"
# Every number from 1 up to 2 is multiplied and rounded.
def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    count, still = 2**mantissa_bits, 0
    for mantissa in range(count):
        product = (1 + mantissa / count) * beta2
        spacing = 2.0 ** (math.frexp(product)[1] - 1 - mantissa_bits)
        still += round(product / spacing) * spacing == 1 + mantissa / count
    return "frozen" if still == count else "stalls" if still else "decays"


# %% answer="two_numbers"
# The smallest and the largest number with another mantissa than 0.
def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    step = 2**-mantissa_bits
    stays = [abs(number - number * beta2) < step / 2 for number in (1 + step, 2 - step)]
    return {(True, True): "frozen", (True, False): "stalls", (False, False): "decays"}[tuple(stays)]


# %% answer="in_units_of_eps"
# Shares of eps.
def fate_of_moment(beta2: float, mantissa_bits: int) -> str:
    share = (1 - beta2) * 2**mantissa_bits
    return "decays" if share >= 0.5 else ("frozen", "stalls")[share > 0.25]
