#!/usr/bin/env python3
"""Reports which lines and branches of src the tests of a Clang coverage build have reached.

llvm-cov lists the branches of a condition once per function that holds it: per instantiation of a
template, per CPU target. Here a condition counts once, by its place in the sources, and a side of it
is reached when some copy reached it. Left out are
  - lines of a CHECK: the side that fails ends the process before it can be counted;
  - conditions that every copy decides at compile time (`kStream && ...`), which have no sides.
Branches inside of macros count once per macro, in the file that defines it.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

CHECK = re.compile(r"\bENGINE_D?CHECK\(")
# The words of a condition that a template's arguments or constants decide.
CONSTANT = re.compile(
    r"k[A-Z]\w*|sizeof|alignof|constexpr|std|hn|hwy|tensor|core|[A-Z]\w*|HWY_\w+|\w+_v|\w+_t|\d\w*"
    r"|float|double|bool|int|char|unsigned|signed|value|type|true|false")


def check_lines(text):
    """The numbers of the lines that a CHECK takes up, to its closing parenthesis."""
    found = set()
    for match in CHECK.finditer(text):
        depth, position = 1, match.end()
        while depth > 0 and position < len(text):
            depth += {"(": 1, ")": -1}.get(text[position], 0)
            position += 1
        first = text.count("\n", 0, match.start()) + 1
        found.update(range(first, first + text.count("\n", match.start(), position) + 1))
    return found


def line_counts(segments):
    """Line number -> how often it ran, from the sorted segments of a file, as llvm-cov does."""
    by_line = collections.defaultdict(list)
    for segment in segments:
        by_line[segment[0]].append(segment)
    counts, wrapped = {}, None
    for number in range(segments[0][0], segments[-1][0] + 1):
        starts = by_line.get(number, [])
        entries = [s for s in starts if s[3] and s[4] and not s[5]]
        skipped = bool(starts) and not starts[0][3] and starts[0][4]
        if not skipped and (entries or (wrapped is not None and wrapped[3])):
            counts[number] = max([s[2] for s in entries]
                                 + ([wrapped[2]] if wrapped is not None and wrapped[3] else []))
        if starts:
            wrapped = starts[-1]
    return counts


def text_at(lines, place):
    first, begin, last, end = place
    if first == last:
        return lines[first - 1][begin - 1:end - 1]
    return "\n".join([lines[first - 1][begin - 1:], *lines[first:last - 1], lines[last - 1][:end - 1]])


def is_constant(condition):
    return all(CONSTANT.fullmatch(word) for word in re.findall(r"[A-Za-z_0-9]+", condition))


def wanted(path, root):
    """The path within the tree when it is the library's; support for our own tests is not."""
    if not path.startswith(f"{root}/src/"):
        return None
    name = path[len(str(root)) + 1:]
    if name.startswith("src/testing/") and "redzone_allocator" not in name:
        return None
    return name


def measure(export, root):
    """file -> (lines that count, lines reached, sides, sides reached, places not reached)"""
    data = export["data"][0]
    sides = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    for function in data["functions"]:
        for *place, taken, not_taken, file_id, _, _ in function["branches"]:
            name = wanted(function["filenames"][file_id], root)
            if name is not None:
                counts = sides[name][tuple(place)]
                counts[0] += taken
                counts[1] += not_taken
    results = {}
    for file in data["files"]:
        name = wanted(file["filename"], root)
        if name is None or not file["segments"]:
            continue
        text = (root / name).read_text()
        lines = text.splitlines()
        ignored = check_lines(text)
        counts = {n: c for n, c in line_counts(file["segments"]).items() if n not in ignored}
        missed = [f"{n}" for n, c in sorted(counts.items()) if c == 0]
        total = reached = 0
        for place, (taken, not_taken) in sorted(sides[name].items()):
            if place[0] in ignored:
                continue
            if taken == not_taken == 0 and is_constant(text_at(lines, place)):
                continue
            total += 2
            reached += (taken > 0) + (not_taken > 0)
            if taken == 0 or not_taken == 0:
                missed.append(f"{place[0]}:{place[1]}{'' if taken else ' true'}"
                              f"{'' if not_taken else ' false'}")
        results[name] = (len(counts), sum(c > 0 for c in counts.values()), total, reached, missed)
    return results


def percent(part, whole):
    return 100 * part / whole if whole else 100


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path, help="its profiles are in BUILD/profiles")
    parser.add_argument("--lines", type=float, default=95, help="percent that must be reached")
    parser.add_argument("--branches", type=float, default=90, help="percent that must be reached")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    build = options.build.resolve()

    profile = build / "merged.profdata"
    subprocess.run(["llvm-profdata", "merge", "-sparse", "-o", profile,
                    *sorted((build / "profiles").glob("*.profraw"))], check=True)
    programs = [p for p in sorted((build / "tests").rglob("test_*")) if p.is_file()
                and p.suffix == "" and p.stat().st_mode & 0o100]
    objects = [str(programs[0])] + [f"-object={p}" for p in programs[1:]]
    common = [f"-instr-profile={profile}", "-ignore-filename-regex=^/usr|/tests/|/src/testing/[^r]",
              *objects]
    exported = subprocess.run(["llvm-cov", "export", *common], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    results = measure(json.loads(exported.stdout), root)
    subprocess.run(["llvm-cov", "show", "-format=html", f"-output-dir={build / 'report'}",
                    "-show-branches=count", "-show-instantiations=false", *common], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    report = []
    for name, (lines, run, sides, reached, missed) in sorted(results.items()):
        report.append(f"{name:45} lines {run:4}/{lines:<4} branches {reached:4}/{sides:<4} "
                      + ", ".join(missed))
    (build / "report" / "summary.txt").write_text("\n".join(report) + "\n")
    lines, run, sides, reached = (sum(r[i] for r in results.values()) for i in range(4))
    print(f"lines: {percent(run, lines):.1f} % ({run} of {lines}), "
          f"branches: {percent(reached, sides):.1f} % ({reached} of {sides})")
    if percent(run, lines) < options.lines or percent(reached, sides) < options.branches:
        print(f"expected at least {options.lines} % and {options.branches} %")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
