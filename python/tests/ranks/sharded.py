"""What the guide to shards shows, on several processes.

sharded.py OUT GUIDE: each rank has a part of the lengths, and runs the block that is in Python.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import torch.distributed as dist
from common import finish, lengths, write

dist.init_process_group("gloo")
(block,) = re.findall(r"^```python\n(.*?)^```", Path(sys.argv[2]).read_text(), re.MULTILINE | re.DOTALL)
names = {"lengths": lengths()[dist.get_rank() :: dist.get_world_size()]}
exec(compile(block, "docs/guides/shards.md", "exec"), names)
write([list(batch) for batch in names["sampler"]])
finish()
