"""Calibrates the models of `epochs.py`, until memory ends, and says what is recommended.

python3 benches/gpu/calibrate.py --out benches/gpu/runs/NAME
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lengthwise as lw
import torch
from epochs import FEATURES, TOKENS, build


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true", help="tiny models on the CPU")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    cuda = torch.cuda.is_available() and not args.quick
    device = "cuda" if cuda else "cpu"
    for name in ["encoder", "blstm"]:
        modules, loss_of = build(name, args.quick)
        modules.to(device)
        optimizer = torch.optim.AdamW(modules.parameters(), lr=1e-5)
        half = torch.autocast(device, torch.bfloat16, enabled=cuda and name == "encoder")

        def step(size: int, length: int) -> None:
            optimizer.zero_grad(set_to_none=True)
            if name == "blstm":
                values = torch.randn(size, length, FEATURES, device=device)
            else:
                values = torch.randint(TOKENS, (size, length), device=device)
            with half:
                loss = loss_of(values, torch.ones(size, length, dtype=torch.bool, device=device))
            loss.backward()
            optimizer.step()

        most = dict(max_cells=4000) if args.quick else {}
        calibration = lw.calibrate(step, lw.example("speech"), seconds=args.seconds, **most)
        text = f"{name}\n\n{calibration}\n"
        print(text, flush=True)
        (args.out / f"calibration-{name}.txt").write_text(text)
        calibration.save_steps(args.out / f"calibration-{name}.csv")


if __name__ == "__main__":
    main()
