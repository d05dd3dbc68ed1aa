"""Fuzz decoders, topics, units, settings, HTTP: python -m tests.fuzz --inputs 1000000 --workers 2.

Inputs are valid ones changed by chance: bytes flipped, cut out, doubled and spliced, odd words of
the format put in, and changes that know the tree of JSON, CBOR, MessagePack and YAML and the fields
of protobuf. Every input is read twice. What must hold of each:

* nothing comes out but observations and refusals with a reason of the list, never "unexpected";
* every number is finite and within its limits, every name has allowed characters, and what is let
  through can be written to the journal and is the same when it is read back;
* the HTTP service answers well-formed HTTP, never 500, on no more connections than allowed;
* the same input gives the same again;
* none takes more than 2 s of processor time or 64 MB of memory.

``--batches N`` compares N batches of messages read together with the same messages read alone
(differential.py) instead, and what ``monitor explain`` says of some of them.

It prints inputs a second and what came out of how many, keeps a line for the corpus of each finding
in ``--out`` and ends with 1 if there was one. To repeat one: --repeat FILE (or a line of the corpus
on its own). Run it from the project's folder, with the project's Python.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from . import differential
from .campaign import Finding, Plan, Tally, fuzz
from .corpus import kept_in, line_of
from .examining import Fault, examine
from .guards import alarm
from .targets import TARGETS

_PORTION = 1000


def main() -> int:
    """Run the command; return 1 if something was found."""
    given = _arguments()
    if given.repeat is not None:
        return _repeated(given.repeat)
    if given.batches is not None:
        return _compared(given)
    names = [
        name
        for name, target in TARGETS.items()
        if not given.decoder or {name, target.decoder} & set(given.decoder)
    ]
    if not names:
        known = sorted({*TARGETS, *(target.decoder for target in TARGETS.values())})
        sys.exit(f"no target is called so; there are {', '.join(known)}")
    seconds = given.seconds if given.seconds is not None else float("inf")
    wanted = given.inputs if given.inputs is not None else 10**12 if given.seconds else 100_000
    plan = Plan(names, str(given.seed), -(-wanted // given.workers), seconds)
    found: dict[str, Finding] = {}
    began = time.monotonic()
    tally = fuzz(plan, given.workers, found)
    _show(tally, time.monotonic() - began, names)
    _keep(list(found.values()), given.out)
    return 1 if found else 0


def _arguments() -> argparse.Namespace:
    text = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser("python -m tests.fuzz", description=text[0].split(":")[0])
    parser.add_argument("--seconds", type=float, help="how long")
    parser.add_argument("--inputs", type=int, help="how many inputs (100000 if neither is given)")
    parser.add_argument("--batches", type=int, help="compare so many batches with messages alone")
    parser.add_argument(
        "--decoder", action="append", help="only this decoder or target; repeatable"
    )
    parser.add_argument("--seed", type=int, default=1, help="of all chance (1)")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--out", type=Path, default=Path("build/fuzz"), help="folder for findings")
    parser.add_argument("--repeat", type=Path, help="read the inputs of a file of findings again")
    return parser.parse_args()


def _compared(given: argparse.Namespace) -> int:
    """Compare batches in portions, each of a seed of its own."""
    began, different = time.monotonic(), 0
    whole = differential.Tally(0, 0, 0)
    seeds = [f"{given.seed}.{at}" for at in range(-(-given.batches // _PORTION))]
    with multiprocessing.get_context("fork").Pool(given.workers) as pool:
        for seed, (tally, told) in zip(seeds, pool.imap(_portion, seeds), strict=True):
            if told:
                different += 1
                print(f"seed {seed}: {told}", flush=True)
            whole = differential.Tally(*map(sum, zip(whole, tally, strict=True)))
            if whole.batches % (50 * _PORTION) == 0:
                print(f"{whole.batches} batches, {different} differences", flush=True)
    seconds = time.monotonic() - began
    print(f"{whole.batches} batches of {whole.messages} messages in {seconds:.0f} s")
    print(f"{whole.accepted} observations accepted; {different} differences")
    return 1 if different else 0


def _portion(seed: str) -> tuple[differential.Tally, str]:
    try:
        return differential.campaign(seed, _PORTION), ""
    except differential.Difference as found:
        return differential.Tally(0, 0, 0), str(found)


def _repeated(file: Path) -> int:
    broken = 0
    with alarm():
        for kept in kept_in(file):
            outcome = examine(TARGETS[kept.target], kept.raw)
            if isinstance(outcome, Fault):
                broken += 1
                print(f"{kept.target}: {outcome.kind}\n{outcome.detail}")
            else:
                print(f"{kept.target}: {', '.join(sorted(outcome.words))}")
    return 1 if broken else 0


def _show(tally: Tally, seconds: float, names: list[str]) -> None:
    for name in names:
        words = {word: n for (of, word), n in tally.words.items() if of == name}
        most = sorted(words.items(), key=lambda item: -item[1])
        print(f"{name:20} {tally.inputs[name]:9}  {', '.join(f'{w} {n}' for w, n in most)}")
    total = tally.inputs.total()
    print(f"{total} inputs in {seconds:.0f} s, {total / max(seconds, 1e-9):.0f} a second")


def _keep(found: list[Finding], folder: Path) -> None:
    print(f"{len(found)} findings")
    for number, finding in enumerate(found, 1):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{finding.target}-{number}.jsonl"
        file.write_text(line_of(finding.target, finding.raw, finding.fault.kind) + "\n", "utf-8")
        print(f"\n{finding.target}: {finding.fault.kind}")
        print(f"  input of {len(finding.raw)} bytes: {finding.raw[:200]!r}")
        print(f"  repeat: python -m tests.fuzz --repeat {file}\n{finding.fault.detail}")


if __name__ == "__main__":
    sys.exit(main())
