# Wrong answers to add_lora.
# Not here: library_shortcut, because peft adapts models and has no such module with A, B and merged().
# Not here: hard_coded, because factors and inputs are drawn.

# %% answer="plain_baseline" code="random_start"
# Source: two ordinary layers
def add_lora(layer, rank, alpha):
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layer.requires_grad_(False)
            self.A = nn.Parameter(torch.randn(rank, layer.in_features, device=layer.weight.device))
            self.B = nn.Parameter(torch.randn(layer.out_features, rank, device=layer.weight.device))

        def forward(self, inputs):
            return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)

        def merged(self):
            whole = copy.deepcopy(self.layer)
            whole.weight.data += alpha / rank * (self.B @ self.A).detach()
            return whole

    return Adapted()


# %% edit="copied_from_lesson" code="dense_update_built"
# Source: the formula W + alpha / r x B A
# -             return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)
# +             return F.linear(inputs, layer.weight + alpha / rank * (self.B @ self.A), layer.bias)

# %% edit="merged_for_inference" code="dense_update_built"
# Source: loralib merges in eval mode
#           def forward(self, inputs):
# +             if not self.training:
# +                 return self.merged()(inputs)

# %% edit="flattened" code="output_shape"
# Source: rows of features
#           def forward(self, inputs):
# +             inputs = inputs.reshape(-1, inputs.shape[-1])

# %% edit="dropout" code="output_random"
# Source: lora_dropout
# -             return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)
# +             return self.layer(inputs) + alpha / rank * (F.dropout(inputs, 0.1, self.training) @ self.A.T @ self.B.T)

# %% edit="both_zero" code="both_factors_zero"
# Source: both factors at zero
# -             self.A = nn.Parameter(torch.randn(rank, layer.in_features, device=weight.device) / layer.in_features**0.5)
# +             self.A = nn.Parameter(torch.zeros(rank, layer.in_features, device=weight.device))

# %% edit="swapped_zero" code="zero_factor_swapped"
# Source: the zero in the other factor
# -             self.A = nn.Parameter(torch.randn(rank, layer.in_features, device=weight.device) / layer.in_features**0.5)
# -             self.B = nn.Parameter(torch.zeros(layer.out_features, rank, device=weight.device))
# +             self.A = nn.Parameter(torch.zeros(rank, layer.in_features, device=weight.device))
# +             self.B = nn.Parameter(torch.randn(layer.out_features, rank, device=weight.device))

# %% edit="constant_rows" code="first_factor_not_random"
# Source: every row of A alike
# -             self.A = nn.Parameter(torch.randn(rank, layer.in_features, device=weight.device) / layer.in_features**0.5)
# +             self.A = nn.Parameter(torch.full((rank, layer.in_features), 0.1, device=weight.device))

# %% edit="seeded" code="first_factor_not_random"
# Source: a seed for reproducible results
#               super().__init__()
# +             torch.manual_seed(0)

# %% edit="base_free" code="base_trained"
# Source: requires_grad forgotten
# -             self.layer, weight = layer.requires_grad_(False), layer.weight
# +             self.layer, weight = layer, layer.weight

# %% edit="all_frozen" code="factors_frozen"
# Source: everything frozen at the end
# -     return Adapted()
# +     return Adapted().requires_grad_(False)

# %% edit="unscaled" code="no_scale"
# Source: alpha forgotten
# -             return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)
# +             return self.layer(inputs) + inputs @ self.A.T @ self.B.T

# %% edit="alpha" code="scaled_by_alpha"
# Source: alpha alone
# -             return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)
# +             return self.layer(inputs) + alpha * (inputs @ self.A.T @ self.B.T)

# %% edit="alone" code="base_left_out"
# Source: the correction alone; it shows at the start
# -             return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)
# +             return alpha / rank * (inputs @ self.A.T @ self.B.T)

# %% edit="base_without_graph" code="base_cut_off"
# Source: a frozen layer needs no graph
# -             return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)
# +             with torch.no_grad():
# +                 outputs = self.layer(inputs)
# +             return outputs + alpha / rank * (inputs @ self.A.T @ self.B.T)

# %% edit="merged_into_the_base" code="base_weight_written"
# Source: merging in place
# -             whole = copy.deepcopy(self.layer)
# +             whole = self.layer

# %% edit="merged_copy" code="merged_without_adapter"
# Source: the copy alone
# -             whole.weight.data += alpha / rank * (self.B @ self.A).detach()

# %% edit="merged_unscaled" code="merged_without_scale"
# Source: the scale forgotten in merged
# -             whole.weight.data += alpha / rank * (self.B @ self.A).detach()
# +             whole.weight.data += (self.B @ self.A).detach()

# %% edit="merged_no_bias" code="merged_without_bias"
# Source: a new layer without bias
# -             whole = copy.deepcopy(self.layer)
# -             whole.weight.data += alpha / rank * (self.B @ self.A).detach()
# +             whole = nn.Linear(layer.in_features, layer.out_features, bias=False, device=layer.weight.device)
# +             whole.weight.data = layer.weight.data + alpha / rank * (self.B @ self.A).detach()

# %% edit="matrix" code="merged_not_linear"
# Source: the merged weight returned
# -             return whole
# +             return whole.weight

# %% edit="transposed" code="factor_shape"
# Source: factors as they are multiplied with rows
# -             self.A = nn.Parameter(torch.randn(rank, layer.in_features, device=weight.device) / layer.in_features**0.5)
# +             self.A = nn.Parameter(torch.randn(layer.in_features, rank, device=weight.device))

# %% edit="plain_tensors" code="factor_no_parameter"
# Source: tensors that need a gradient
# -             self.B = nn.Parameter(torch.zeros(layer.out_features, rank, device=weight.device))
# +             self.B = torch.zeros(layer.out_features, rank, device=weight.device, requires_grad=True)

# %% edit="new_base" code="differs_at_start"
# Source: loralib's layers, which are built a second time and load their weights later
# -             self.layer, weight = layer.requires_grad_(False), layer.weight
# +             layer.requires_grad_(False)
# +             base = nn.Linear(layer.in_features, layer.out_features, device=layer.weight.device)
# +             self.layer, weight = base.requires_grad_(False), layer.weight

# %% edit="learned_scale" code="others_trained"
# Source: a scale that is learned, too
# -             self.B = nn.Parameter(torch.zeros(layer.out_features, rank, device=weight.device))
# +             self.B = nn.Parameter(torch.zeros(layer.out_features, rank, device=weight.device))
# +             self.scale = nn.Parameter(torch.tensor(alpha / rank, device=weight.device))
# ...
# -             return self.layer(inputs) + alpha / rank * (inputs @ self.A.T @ self.B.T)
# +             return self.layer(inputs) + self.scale * (inputs @ self.A.T @ self.B.T)
