#!/usr/bin/env python3
"""bench_diff.py --base FILE... --head FILE... [--tolerance 0.15] [--markdown FILE]

Compares runs of bench_compare from two builds that were taken in turns on one machine, and fails when
the second is slower. What is compared is the ratio to memcpy, which other load on the machine changes
less than times; of several runs of one build the best counts, since load only ever slows things down.
"""

import argparse
import json
import pathlib
import sys

OURS = "engine"


def best_ratios(paths):
    """The best ratio to memcpy of every layout that was timed, by (section, name, size)."""
    ratios = {}
    for path in paths:
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            result = row["results"].get(OURS)
            if result is not None and row["section"] in ("reference", "off_table"):
                key = (row["section"], row["name"], row["size"])
                ratios[key] = max(ratios.get(key, 0), result["ratio"])
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--base", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--head", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--tolerance", type=float, default=0.15, help="a relative loss that is noise")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the table to this file, too")
    options = parser.parse_args()

    base, head = best_ratios(options.base), best_ratios(options.head)
    common = sorted(base.keys() & head.keys(), key=lambda key: head[key] / base[key])
    if not common:
        sys.exit("bench_diff: the two builds have no layout in common")
    lines = ["| layout | base | head | head / base |", "| --- | --: | --: | --: |"]
    slower = 0
    for key in common:
        change = head[key] / base[key]
        mark = ""
        if change < 1 - options.tolerance:
            slower += 1
            mark = " slower"
        lines.append(f"| {key[1]} {key[2]} | {base[key]:.2f} | {head[key]:.2f} | {change:.2f}{mark} |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    print(f"{len(common)} layouts, {slower} slower by more than {options.tolerance:.0%}")
    if options.markdown:
        options.markdown.write_text("Ratios to memcpy; 1 is its speed.\n\n" + text, encoding="utf-8")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
