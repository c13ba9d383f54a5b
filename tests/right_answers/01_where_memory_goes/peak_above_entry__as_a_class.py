# Source: object-oriented habit
# The counters are attributes of a mode of its own.
class Meter(Watch):
    def __init__(self):
        super().__init__(self.count)
        self.held = self.peak = 0
        self.alive = set()

    def count(self, tensors_in, tensors_out):
        before = {tensor.untyped_storage()._cdata for tensor in tensors_in} | self.alive
        for tensor in tensors_out:
            storage = tensor.untyped_storage()
            if storage._cdata in before:
                continue
            before.add(storage._cdata)
            self.alive.add(storage._cdata)
            self.held += storage.nbytes()
            weakref.finalize(storage, self.let_go, storage._cdata, storage.nbytes())
        self.peak = max(self.peak, self.held)

    def let_go(self, key, byte_count):
        self.alive.remove(key)
        self.held -= byte_count


def peak_above_entry(step) -> int:
    with Meter() as meter:
        step()
    return meter.peak
