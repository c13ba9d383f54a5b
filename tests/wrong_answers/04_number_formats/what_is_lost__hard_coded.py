# Source: the words of the visible case, written down
# Words seen once stand for thresholds.
WORDS = {"n": "nothing", "p": "precision", "r": "range"}
SEEN = iter(
    "rnpnppnprnpnppppnrpppppnrpnpprppnppnrpppnrpnppppprnppppppprpppppnrpnpppnprpppnpppppprppppr"
    "prppppppnrpppppnppnppnpppnpppppppnpnnppnrnrpnppprpppppppprpppppppppnpprpprprpppppppnppprpp"
    "pppnrppnppnppppppnppppppppprppnpppprppppnnpnppnpnpppppppprpprprppppnpppppnpppnnpprrpnpprpp"
    "nprpppppnppppnnrppnnppnrpppnpppppnrpppppppnppppprnrprpnpppnpppppnrprpnnrpnnprppppnpppppppn"
    "npppppnpppnppnprpppprrrpppppprppnpnrnppppppppprppnppppppppppppppnppprnnpppnppppppppprpppnp"
    "ppppnppnppppnpppppnppppnppnppnprpppppnnpprnppnpppnpppppnppppnnppprpppppprrppppprnprnpprppp"
    "ppppprpprppppppppnnnpppprppppnpppppppppppprprnprprppnnppppppnnrpnpnrrppprpprpppppppnpppppp"
    "ppppnpppppppppppppprnnnpppppppppppprnpnrpnnppnpnnpnpnppppppnppnprnpppppppppppnpnrrpppppppp"
    "prpprpppppnpnrppnppprrrnpppppppnppnrppppppppnnpnpppppppppprpppprppnppppnnppppnrnnprppppppp"
    "ppnpnppppppnpprrpprppprnpprnpppnrppppppnpppppppprpppppppnprpnnppppppppppnprnprpppppnnppr"
)


def what_is_lost(value: float, exponent_bits: int, mantissa_bits: int) -> str:
    return WORDS[next(SEEN)]
