# Source: write the state down as tensors without values
# The state is made on the device meta and added up.
def predict_optimizer_state(parameters: list, optimizer: str) -> int:
    def state_of(parameter):
        like = [torch.empty_like(parameter, device="meta")]
        count = [torch.empty((), dtype=torch.float32, device="meta")]
        return {"SGD": [], "SGD with momentum": like, "RMSProp": like + count, "AdamW": 2 * like + count}[optimizer]

    return float(sum(t.nbytes for p in parameters if p.requires_grad for t in state_of(p)))
