# Right answers to add_lora.

# %% answer="subclass_of_linear"
def add_lora(layer, rank, alpha):
    class Adapted(nn.Linear):
        def __init__(self):
            super().__init__(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
            self.weight, self.bias = layer.weight, layer.bias
            self.requires_grad_(False)
            self.register_parameter("A", nn.Parameter(torch.empty(rank, self.in_features, device=self.weight.device)))
            self.register_parameter("B", nn.Parameter(self.weight.new_zeros(self.out_features, rank)))
            nn.init.kaiming_uniform_(self.A, a=5**0.5)

        def forward(self, inputs):
            return super().forward(inputs) + F.linear(F.linear(inputs, self.A), self.B) * (alpha / rank)

        def merged(self):
            whole = nn.Linear(
                self.in_features, self.out_features, bias=self.bias is not None, device=self.weight.device
            )
            with torch.no_grad():
                whole.weight.copy_(torch.addmm(self.weight, self.B, self.A, alpha=alpha / rank))
                if self.bias is not None:
                    whole.bias.copy_(self.bias)
            return whole

    return Adapted()


# %% answer="scaled_inputs"
def add_lora(layer, rank, alpha):
    module = nn.Module()
    for parameter in layer.parameters():
        parameter.requires_grad = False
    module.layer = layer
    module.A = nn.Parameter(0.01 * torch.randn_like(layer.weight[:1].expand(rank, -1)))
    module.B = nn.Parameter(torch.zeros_like(layer.weight[:, :1].expand(-1, rank)))

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.A, self.B = module.layer, module.A, module.B

        def forward(self, inputs):
            thin = torch.einsum("...i,ri->...r", inputs * (alpha / rank), self.A)
            return torch.einsum("...r,or->...o", thin, self.B) + self.layer(inputs)

        @torch.no_grad()
        def merged(self):
            whole = copy.deepcopy(self.layer)
            whole.weight.add_(self.B @ self.A, alpha=alpha / rank)
            return whole

    return Adapted()


# %% edit="copy_of_the_base"
# -             self.layer, weight = layer.requires_grad_(False), layer.weight
# +             self.layer, weight = copy.deepcopy(layer).requires_grad_(False), layer.weight
