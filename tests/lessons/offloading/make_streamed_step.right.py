# %% answer="zeros_sent_first"
def make_streamed_step(parameters: list, far: FarMemory, chunk: int, update):
    away = {}

    def step():
        for number, parameter in enumerate(parameters):
            if parameter.grad is None:
                continue
            flat, slope = parameter.detach().view(-1), parameter.grad.flatten()
            for start in range(0, flat.numel(), chunk):
                weight = flat[start : start + chunk]
                if (number, start) not in away:
                    away[number, start] = [0, far.put(torch.zeros_like(weight)), far.put(torch.zeros_like(weight))]
                record = away[number, start]
                record[0] += 1
                moments = [far.get(one) for one in record[1:]]
                update(weight, slope[start : start + chunk], *moments, record[0])
                record[1:] = [far.put(one, old) for one, old in zip(moments, record[1:], strict=True)]

    return step


# %% answer="both_moments_in_one"
def make_streamed_step(parameters: list, far: FarMemory, chunk: int, update):
    away, counts = [{} for _ in parameters], [0 for _ in parameters]

    def step():
        with torch.no_grad():
            for index, parameter in enumerate(parameters):
                if parameter.grad is not None:
                    counts[index] += 1
                    starts = range(0, parameter.numel(), chunk)
                    for start in starts:
                        weight = parameter.data.view(-1).narrow(0, start, min(chunk, parameter.numel() - start))
                        gradient = parameter.grad.reshape(-1)[start : start + chunk]
                        old = away[index].pop(start, None)
                        both = weight.new_zeros(2, len(weight)) if old is None else far.get(old)
                        update(weight, gradient, both[0], both[1], counts[index])
                        away[index][start] = far.put(both)

    return step


# %% answer="class_with_call"
class _Streamed:
    def __init__(self, parameters, far, chunk, update):
        self.parameters, self.far, self.chunk, self.update = list(parameters), far, chunk, update
        self.state = {parameter: {"step": 0} for parameter in self.parameters}

    @torch.no_grad()
    def __call__(self):
        for parameter, state in self.state.items():
            if parameter.grad is None:
                continue
            state["step"] += 1
            weights, gradients = (torch.split(one.reshape(-1), self.chunk) for one in (parameter, parameter.grad))
            for place in range(len(weights)):
                if place in state:
                    first, second = map(self.far.get, state[place])
                else:
                    first, second = torch.zeros_like(weights[place]), torch.zeros_like(weights[place])
                self.update(weights[place], gradients[place], first, second, state["step"])
                state[place] = (self.far.put(first), self.far.put(second))


def make_streamed_step(parameters: list, far: FarMemory, chunk: int, update):
    return _Streamed(parameters, far, chunk, update)
