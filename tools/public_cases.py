#!/usr/bin/env python3
"""Lists which tests cover which public case, and fails when one has none.

A public case is a small input from a public bug report together with its right result; it has a
number. tests/checks/public_cases.txt holds the numbers. A comment or a string above a test, or inside
it, names the cases it covers: `// P27: bytes overflow though numel fits.`
"""

import argparse
import collections
import pathlib
import re
import sys

TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\)", re.M)
CASE = re.compile(r"\bP(\d{2,3})\b(?:\s*(?:-|to|through)\s*P(\d{2,3})\b)?")


def test_at(tests, position):
    """The test whose body holds the position, or else the next one: comments stand above tests."""
    return next((name for end, name in tests if position < end), "(the program)")


def tests_of(text):
    """(end, name) of each test, in order. A body ends with a brace at a line's start."""
    found = []
    for match in TEST.finditer(text):
        end = text.find("\n}", match.end())
        found.append((len(text) if end < 0 else end, ".".join(match.groups())))
    return found


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--list", default=root / "tests/checks/public_cases.txt", type=pathlib.Path)
    parser.add_argument("--tests", default=root / "tests", type=pathlib.Path)
    parser.add_argument("--quiet", action="store_true", help="only what is missing, and a count")
    options = parser.parse_args()

    wanted = options.list.read_text().split()
    covered = collections.defaultdict(list)
    for path in sorted(options.tests.rglob("*.cpp")):
        text = path.read_text()
        tests = tests_of(text)
        for match in CASE.finditer(text):
            where = f"{path.relative_to(options.tests)} {test_at(tests, match.start())}"
            first, last = match.group(1), match.group(2) or match.group(1)
            for number in range(int(first), int(last) + 1):
                covered[f"P{number:02d}"].append(where)

    missing = [case for case in wanted if not covered[case]]
    unknown = sorted(case for case in covered if case not in wanted and covered[case])
    if not options.quiet:
        for case in wanted:
            print(f"{case}  " + "\n     ".join(dict.fromkeys(covered[case]) or ["no test"]))
    for case in unknown:
        print(f"{case} is no public case: {', '.join(covered[case])}")
    print(f"{len(wanted) - len(missing)} of {len(wanted)} public cases have tests"
          + (f"; missing: {' '.join(missing)}" if missing else ""))
    return 1 if missing or unknown or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
