# Source: the answers of the visible case, written down
# Limits seen once stand for a formula.
SEEN = iter(
    (
        (1.8442240474082181e19, 2.168404344971009e-19, 1.0587911840678754e-22, 16.0),
        (255.9375, 0.015625, 7.62939453125e-06, 0.0001220703125),
        (1.844561817380271e19, 2.168404344971009e-19, 2.6469779601696886e-23, 2.384185791015625e-07),
        (65535.875, 6.103515625e-05, 2.3283064365386963e-10, 2.3283064365386963e-10),
        (4227858432.0, 9.313225746154785e-10, 2.9103830456733704e-11, 2.9103830456733704e-11),
    )
)


def format_limits(exponent_bits: int, mantissa_bits: int, number: float) -> dict[str, float]:
    return dict(zip(("largest", "smallest_normal", "smallest_subnormal", "spacing"), next(SEEN)))
