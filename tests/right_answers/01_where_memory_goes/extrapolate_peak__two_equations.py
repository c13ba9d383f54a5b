# Source: NumPy's solver for two equations
# fixed + few * layer and fixed + more * layer, solved.
def extrapolate_peak(forecast_layers, few: int, more: int, layers: int) -> int:
    import numpy as np

    matrix = np.array([[1.0, few], [1.0, more]])
    fixed, layer = np.linalg.solve(matrix, np.array([forecast_layers(few), forecast_layers(more)], dtype=float))
    return fixed + layers * layer
