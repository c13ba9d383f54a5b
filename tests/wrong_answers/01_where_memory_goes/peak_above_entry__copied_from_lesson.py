# Source: the cell of this lesson that shows what Watch reports
# The tensors are printed and nothing is returned.
def peak_above_entry(step) -> int:
    def show(tensors_in, tensors_out):
        shapes = [list(tensor.shape) for tensor in tensors_out]
        return shapes

    with Watch(show):
        step()
