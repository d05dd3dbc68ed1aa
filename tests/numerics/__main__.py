"""Hold what is published against fifty digits: python -m tests.numerics --pairs 1e8.

So many pairs pass through windows, with huge values all along; then every statistic of every window
is worked out again in fifty digits from pairs made anew, and must agree to 1e-12 of the size of its
terms; and must have the same bits as in windows that saw nothing else. Besides, scores of
``--cases`` pairs of every size within the bounds must be finite. Ends with 1 if something is not
so. Run it from the project's folder, with the project's Python.
"""

from __future__ import annotations

import argparse
import sys
import time

from .run import faults, run


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.numerics",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--pairs", type=float, default=1e6, help="how many (default 1e6)")
    parser.add_argument("--cases", type=float, default=1e5, help="pairs within the bounds (1e5)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.monotonic()
    found = run(int(given.pairs), given.seed)
    print(
        f"{found.pairs} pairs: {found.within} of {found.figures} figures within 1e-12, worst "
        f"{found.off:.1e} ({found.worst}); {found.same_bits} of {found.series} windows the same "
        f"bits as without the past; {time.monotonic() - began:.0f} s",
        flush=True,
    )
    told = faults(int(given.cases), given.seed)
    print(f"{int(given.cases)} cases: {len(told)} findings", *told, sep="\n")
    return int(bool(told) or found.within < found.figures or found.same_bits < found.series)


if __name__ == "__main__":
    sys.exit(main())
