"""Two ranks that divide the data, each on two processes: meshes.py OUT."""

from __future__ import annotations

import torch.distributed as dist
from common import BUDGET, finish, lengths, write
from lengthwise.torch import BatchSampler, StreamBatches
from torch.distributed.device_mesh import init_device_mesh

dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
place = {"device_mesh": mesh["dp"]}
group = {"process_group": mesh["dp"].get_group()}
items = [[0] * int(length) for length in lengths()]
write(
    {
        "mesh": list(BatchSampler(lengths(), "shuffled", budget=BUDGET, **place)),
        "group": list(BatchSampler(lengths(), "shuffled", budget=BUDGET, **group)),
        "both": repr(BatchSampler(lengths(), "shuffled", budget=BUDGET, device_mesh=mesh)),
        "stream": [batch.positions for batch in StreamBatches(items, budget=BUDGET, **place)],
        "place": mesh["dp"].get_local_rank(),
    }
)
finish()
