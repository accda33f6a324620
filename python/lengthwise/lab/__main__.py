"""The command: ``python -m lengthwise.lab``."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import LengthwiseError
from ._display import table
from ._session import Session, folder_of, on_signals, prepared

#: The exit code of an experiment that was stopped, as shells have it for Ctrl-C; and that of an error.
STOPPED, FAILED = 130, 2


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers such as 1,2,3, got {text!r}") from None


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    main = argparse.ArgumentParser(
        prog="python -m lengthwise.lab",
        description="Train a PyTorch model of yours under several ways to batch, and compare time, memory and error.",
    )
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in (
        ("run", "train all runs of an experiment"),
        ("check", "plan one epoch of every run, without training"),
    ):
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.add_argument("experiment", metavar="FILE", help="the TOML file of an experiment")
        command.add_argument(
            "--model",
            metavar="MODULE:FUNCTION",
            help="the function that makes the task [default: build in [model] of the file]",
        )
        command.add_argument("--data", metavar="PATH", help='the data, which the function gets as settings["data"]')
        command.add_argument("--epochs", type=int, metavar="N", help="the number of epochs, of all runs")
        command.add_argument("--seeds", type=_numbers, metavar="SEED,…", help="seeds of parameters and plans")
        command.add_argument("--only", action="append", metavar="NAME,…", help="train only these runs, by name")
        command.add_argument(
            "--device", default="auto", help="the device: cpu, cuda, … [default: a GPU if there is one]"
        )
        if name == "run":
            command.add_argument(
                "-o",
                "--out",
                metavar="FOLDER",
                help="save results and checkpoints in this folder [default: runs/EXPERIMENT, or runs/EXPERIMENT-DATA with "
                "--data]; a run that was stopped continues from there",
            )
            command.add_argument(
                "--fresh", action="store_true", help="train anew, and delete the results and checkpoints in the folder"
            )
            command.add_argument("-q", "--quiet", action="store_true", help="print only the results")
    return main


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit code."""
    args = parser().parse_args(arguments)
    try:
        return _run(args)
    except LengthwiseError as error:
        message, _, hint = str(error.args[0]).partition("\nhint: ")
        print(f"error: {message}" + (f"\n\nhint: {hint}" if hint else ""), file=sys.stderr)
        return FAILED


def _run(args: argparse.Namespace) -> int:
    session = outcome = None
    with contextlib.suppress(KeyboardInterrupt):
        ready = prepared(
            args.experiment,
            args.model,
            only=args.only,
            seeds=args.seeds,
            epochs=args.epochs,
            data=args.data,
            device=args.device,
        )
        if args.command == "check":
            print(ready.check(), end="")
            return 0
        folder = folder_of(args.experiment, args.data) if args.out is None else Path(args.out)
        session = Session(ready, folder)
        with on_signals() as stop:
            outcome = session.run(args.fresh, args.quiet, stop)
    if session is None:
        print("stopped", file=sys.stderr)
        return STOPPED
    if outcome is None or not outcome.finished:
        print(f"stopped; the same command continues after the last whole epoch (saved in {folder})", file=sys.stderr)
        return STOPPED
    print(table(outcome.trainings), end="")
    print(f"\nIntervals, curves and a page: lengthwise-lab report {folder} -o {folder}/report.html", file=sys.stderr)
    if outcome.others:
        many = "1 training" if outcome.others == 1 else f"{outcome.others} trainings"
        print(
            f"\nThe results leave out {many} of this folder that you did not choose; its checkpoints have them.",
            file=sys.stderr,
        )
    if not outcome.trained:
        print(
            "\nNothing was trained: these results were kept from an earlier run. To train anew, add --fresh.", file=sys.stderr
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
