# %% answer="text_numbers"
def pack_rows(rows, time):
    lengths = [len(row) for row in rows] + [1] * (time - sum(map(len, rows)))
    text = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths)).to(rows[0].device)
    tokens = torch.cat([*rows, rows[0].new_zeros(len(lengths) - len(rows))])
    positions = torch.cat([torch.arange(length) for length in lengths]).to(tokens.device)
    mask = (text[:, None] == text) & torch.ones(time, time, dtype=torch.bool, device=tokens.device).tril()
    targets = tokens.roll(-1)
    targets[text != text.roll(-1)] = -100
    targets[-1] = -100
    return tokens, positions, mask, targets


# %% answer="block_diag"
def pack_rows(rows, time):
    left = time - sum(len(row) for row in rows)
    blocks = [torch.ones(len(row), len(row)).tril() for row in rows] + [torch.eye(left)]
    mask = torch.block_diag(*blocks).bool().to(rows[0].device)
    positions = torch.cat([torch.arange(len(row)) for row in rows] + [torch.zeros(left, dtype=torch.int64)])
    targets = [F.pad(row[1:], (0, 1), value=-100) for row in rows]
    targets = F.pad(torch.cat(targets), (0, left), value=-100)
    return F.pad(torch.cat(rows), (0, left)), positions.to(mask.device), mask, targets


# %% answer="token_by_token"
def pack_rows(rows, time):
    tokens, positions, targets, starts = [], [], [], []
    for row in rows:
        starts += [len(tokens)] * len(row)
        tokens += row.tolist()
        positions += range(len(row))
        targets += [*row.tolist()[1:], -100]
    while len(tokens) < time:
        starts.append(len(tokens))
        tokens.append(0)
        positions.append(0)
        targets.append(-100)
    mask = [[starts[at] <= other <= at for other in range(time)] for at in range(time)]
    return [torch.tensor(values, device=rows[0].device) for values in (tokens, positions, mask, targets)]
