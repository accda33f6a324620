"""The README's training script: prints the time, the updates and the padding of each epoch."""

import time

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from lengthwise.torch import BatchSampler, steps

torch.manual_seed(0)
lengths = (torch.randn(2000).exp() * 20 + 5).int().clamp(max=200).tolist()
data = [(torch.randint(1, 100, (n,)), n % 2) for n in lengths]


def collate(rows):
    values, labels = zip(*rows)
    return pad_sequence(values, batch_first=True), torch.tensor(labels)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 32, padding_idx=0)
        self.layer = nn.TransformerEncoderLayer(32, nhead=2, dim_feedforward=64, batch_first=True)
        self.head = nn.Linear(32, 2)

    def forward(self, values):
        states = self.layer(self.embed(values), src_key_padding_mask=values == 0)
        return self.head(states[:, 0])


model = Model()
optimizer = torch.optim.Adam(model.parameters())
sampler = BatchSampler(lengths, like="32,keep=steps")  # lengths[i] is the length of data[i]
loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate)
for epoch in range(2):
    start, cells, updates = time.perf_counter(), 0, 0
    for step in steps(loader, by="sequences"):
        for values, labels in step:
            loss = nn.functional.cross_entropy(model(values), labels)
            (loss * step.weight).backward()
            cells += values.numel()
        optimizer.step()
        optimizer.zero_grad()
        updates += 1
    padding = 1 - sum(lengths) / cells
    print(f"epoch {epoch}: {time.perf_counter() - start:.1f} s, {updates} updates, {padding:.1%} padding")
