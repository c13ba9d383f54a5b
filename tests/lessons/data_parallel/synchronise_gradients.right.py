# %% answer="held_counted"
def synchronise_gradients(model, bucket_bytes: int):
    ranks, names, open_bucket, travelling = dist.get_world_size(), list(model.parameters()), {"bytes": 0, "of": []}, {}

    def send():
        members = tuple(open_bucket["of"])
        vector = torch.nn.utils.parameters_to_vector([one.grad for one in members])
        travelling[members] = vector, dist.all_reduce(vector, op=dist.ReduceOp.SUM, async_op=True)
        open_bucket.update({"bytes": 0, "of": []})

    def collect(parameter):
        open_bucket["of"].append(parameter)
        open_bucket["bytes"] += parameter.numel() * parameter.element_size()
        if open_bucket["bytes"] >= bucket_bytes:
            send()

    def finish():
        if open_bucket["of"]:
            send()
        for members in list(travelling):
            vector, handle = travelling.pop(members)
            handle.wait()
            torch.nn.utils.vector_to_parameters(vector.mul_(1 / ranks), [one.grad for one in members])

    for parameter in names:
        dist.broadcast(parameter.data, 0)
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(collect)
    return finish


# %% answer="divided_before"
def synchronise_gradients(model, bucket_bytes: int):
    bucket, started = [], []

    def collect(parameter, is_last=False):
        if parameter is not None:
            bucket.append(parameter)
        if bucket and (is_last or sum(one.grad.nbytes for one in bucket) >= bucket_bytes):
            flat = pack(bucket) / dist.get_world_size()
            started.append((flat, bucket[:], dist.all_reduce(flat, async_op=True)))
            del bucket[:]

    def finish():
        collect(None, is_last=True)
        while started:
            flat, parameters, handle = started.pop(0)
            handle.wait()
            unpack(flat, parameters)

    share_and_hook(model, collect)
    return finish


# %% answer="a_class"
class Buckets:
    def __init__(self, bucket_bytes):
        self.limit, self.open, self.sent = bucket_bytes, [], []

    def __call__(self, parameter):
        self.open.append(parameter)
        if sum(one.grad.nbytes for one in self.open) >= self.limit:
            self.send()

    def send(self):
        flat = pack(self.open)
        self.sent.append((flat, self.open, dist.all_reduce(flat, async_op=True)))
        self.open = []

    def finish(self):
        if self.open:
            self.send()
        [handle.wait() for _, _, handle in self.sent]
        for flat, parameters, _ in self.sent:
            unpack(flat / dist.get_world_size(), parameters)
        self.sent = []


def synchronise_gradients(model, bucket_bytes: int):
    buckets = Buckets(bucket_bytes)
    share_and_hook(model, buckets)
    return buckets.finish
