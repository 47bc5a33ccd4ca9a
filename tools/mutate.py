#!/usr/bin/env python3
"""Changes one operator or bound of the sources at a time and runs the tests that should notice.

A copy of the tree below build/mutate is built and tested once unchanged. Then, for each of the drawn
changes ("mutants"), the copy is built again with that change alone and the tests of its module run
until one fails. A mutant that no test notices survives and is listed: either a test is missing, or
the change alters no promised behaviour (a blocking size, a threshold between two ways to the same
result). Changes that do not compile are replaced by others. Which changes are drawn depends on the
sources and the seed alone.
"""

import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import time

# Folder of src -> regular expression of the ctest entries that test it. The runs on each target
# (on_avx2, ...) come last: most mutants die before.
MODULES = {
    "strided": r"^strided(_heap)?\.",
    "tensor": r"^tensor(_[a-z01_]+)?\.",
}
# Built for each module: only what its tests need.
TARGETS = {
    "strided": ["test_strided", "test_strided_heap", "test_tensor_copy_cast"],
    "tensor": [
        "test_tensor_dtype", "test_tensor_shape", "test_tensor_device", "test_tensor_half",
        "test_tensor_debug", "test_tensor_element_writer", "test_tensor_ops",
        "test_tensor_ops_heap", "test_tensor_scalar_extensions", "test_tensor",
        "test_tensor_heap", "test_tensor_static_destruction", "test_tensor_copy_cast",
        "test_tensor_copy_cast_heap", "test_tensor_uninitialized",
        "test_tensor_uninitialized_fill_0", "test_tensor_uninitialized_fill_1",
    ],
}

# (name, pattern, replacement). clang-format puts spaces around binary operators, and none inside
# template brackets.
OPERATORS = [
    ("relation", r"(?<= )<(?= )", "<="),
    ("relation", r"(?<= )<=(?= )", "<"),
    ("relation", r"(?<= )>(?= )", ">="),
    ("relation", r"(?<= )>=(?= )", ">"),
    ("equality", r"(?<= )==(?= )", "!="),
    ("equality", r"(?<= )!=(?= )", "=="),
    ("logic", r"(?<= )&&(?= )", "||"),
    ("logic", r"(?<= )\|\|(?= )", "&&"),
    ("negation", r"(?<=[( ])!(?=[a-z(])", ""),
    ("arithmetic", r"(?<=[\w\])] )\+(?= )", "-"),
    ("arithmetic", r"(?<=[\w\])] )-(?= )", "+"),
    ("arithmetic", r"(?<=[\w\])] )\*(?= )", "+"),
    ("arithmetic", r"(?<=[\w\])] )/(?= )", "*"),
    ("arithmetic", r"(?<=[\w\])] )%(?= )", "/"),
    ("assignment", r"(?<= )\+=(?= )", "-="),
    ("assignment", r"(?<= )-=(?= )", "+="),
    ("bits", r"(?<= )&(?= )", "|"),
    ("bits", r"(?<= )\|(?= )", "&"),
    ("bits", r"(?<= )<<(?= )", ">>"),
    ("bits", r"(?<= )>>(?= )", "<<"),
    ("step", r"\+\+(?=\w)", "--"),
    ("extreme", r"std::min\b", "std::max"),
    ("extreme", r"std::max\b", "std::min"),
    ("result", r"\breturn true;", "return false;"),
    ("result", r"\breturn false;", "return true;"),
]
# The largest test maps 16 GiB of addresses.
MEMORY_BYTES = 20 << 30

NUMBER = re.compile(r"(?<![\w.'])(\d{1,4})(?![\w.'])")
# Lines whose change would prove nothing: other build modes, compile-time checks, what says nothing
# but a message, and switches over dtypes, which the compiler checks.
SKIP = re.compile(r"^\s*#|ENGINE_DCHECK|HWY_(BEFORE|AFTER)|template <|^\s*//|NOLINT")


def code_mask(text):
    """True for each character outside of comments, literals and static_asserts."""
    mask = bytearray(b"\1" * len(text))
    for match in re.finditer(
            r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', text, re.S):
        mask[match.start():match.end()] = bytes(match.end() - match.start())
    for match in re.finditer(r"\bstatic_assert\(", text):
        if not mask[match.start()]:
            continue  # named by a comment
        end, depth = match.end(), 1
        while depth > 0:
            depth += mask[end] * ((text[end] == "(") - (text[end] == ")"))
            end += 1
        mask[match.start():end] = bytes(end - match.start())
    return mask


def mutants_of(path, text):
    """(path, position, end, replacement, kind) of every possible change of one file."""
    mask = code_mask(text)
    start = 0
    for line in text.splitlines(keepends=True):
        if not SKIP.search(line):
            for kind, pattern, replacement in OPERATORS:
                for match in re.finditer(pattern, line):
                    if mask[start + match.start()]:
                        yield path, start + match.start(), start + match.end(), replacement, kind
            for match in NUMBER.finditer(line):
                if mask[start + match.start()]:
                    more = str(int(match.group(1)) + 1)
                    yield path, start + match.start(), start + match.end(), more, "bound"
        start += len(line)


class Tree:
    """The copy that is mutated, and its build."""

    def __init__(self, source, jobs, timeout):
        self.source = source
        self.root = source / "build" / "mutate" / "tree"
        self.build = source / "build" / "mutate" / "build"
        self.jobs = str(jobs)
        self.timeout = timeout

    def refresh(self):
        """Copies what changed, so that an earlier build is kept as far as possible."""
        for name in ("CMakeLists.txt", "cmake", "src", "tests", "examples", "benchmarks"):
            source = self.source / name
            files = [source] if source.is_file() else [p for p in source.rglob("*") if p.is_file()]
            for file in files:
                target = self.root / file.relative_to(self.source)
                if not target.exists() or target.read_bytes() != file.read_bytes():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, target)
        for file in [p for p in (self.root / "src").rglob("*") if p.is_file()]:
            if not (self.source / file.relative_to(self.root)).exists():
                file.unlink()

    def configure(self):
        subprocess.run(
            ["cmake", "-S", self.root, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
             "-DCMAKE_CXX_FLAGS_DEBUG=-O1", "-DENGINE_BUILD_EXAMPLES=OFF"],
            check=True, stdout=subprocess.DEVNULL)

    def compile(self, module):
        return subprocess.run(["cmake", "--build", self.build, "-j", self.jobs, "--target",
                               *TARGETS[module]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)

    def test(self, module):
        """None when all tests pass, otherwise the name of one that failed."""
        command = ["ctest", "--test-dir", self.build, "-j", self.jobs, "-R", MODULES[module],
                   "-E", "UnderValgrind", "-LE", "^(exhaustive|large)$", "--stop-on-failure",
                   "--timeout", str(2 * self.timeout)]
        # Many tests bring a longer time limit of their own, which overrides ctest's.
        run = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (self.timeout, self.timeout)))
        if run.returncode == 0:
            return None
        found = re.search(r"Test +#\d+: (\S+) .*\*\*\*(\S+)", run.stdout)
        return f"{found.group(1)} ({found.group(2)})" if found else run.stdout[-300:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mutants", nargs="?", type=int, default=20, help="how many (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default 1)")
    parser.add_argument("--module", choices=sorted(MODULES), action="append",
                        help="only this folder of src (default: each)")
    parser.add_argument("--list", action="store_true", help="draw and print them, run nothing")
    parser.add_argument("--timeout", type=int, default=300,
                        help="seconds of processor time after which a test counts as failed "
                        "(default 300)")
    options = parser.parse_args()
    source = pathlib.Path(__file__).resolve().parent.parent
    jobs = int(os.environ.get("DEV_JOBS") or os.cpu_count())
    tree = Tree(source, jobs, options.timeout)

    sites = []
    for module in options.module or sorted(MODULES):
        for path in sorted((source / "src" / module).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                text = path.read_text()
                sites += [(module, *m) for m in mutants_of(path.relative_to(source), text)]
    random.Random(options.seed).shuffle(sites)
    if options.list:
        for module, path, begin, end, replacement, kind in sites[:options.mutants]:
            print(describe(source, path, begin, end, replacement, kind))
        print(f"{len(sites)} possible changes")
        return 0

    # A mutant may ask for any amount of memory.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    tree.refresh()
    tree.configure()
    for module in sorted({site[0] for site in sites}):
        print(f"== {module}, unchanged", flush=True)
        built = tree.compile(module)
        if built.returncode != 0:
            sys.exit(built.stdout[-4000:])
        failed = tree.test(module)
        if failed is not None:
            sys.exit(f"{failed} fails without any change")
    return run(tree, sites, options.mutants, source)


def describe(source, path, begin, end, replacement, kind):
    text = (source / path).read_text()
    line = text.count("\n", 0, begin) + 1
    first = text.rfind("\n", 0, begin) + 1
    last = text.find("\n", begin)
    changed = f"{text[first:begin]}[{text[begin:end]} -> {replacement}]{text[end:last]}"
    return f"{path}:{line}: {kind}: {changed.strip()}"


def run(tree, sites, wanted, source):
    killed, survivors, skipped, started = 0, [], 0, time.monotonic()
    for module, path, begin, end, replacement, kind in sites:
        if killed + len(survivors) == wanted:
            break
        file = tree.root / path
        original = file.read_text()
        what = describe(tree.root, path, begin, end, replacement, kind)
        try:
            file.write_text(original[:begin] + replacement + original[end:])
            if tree.compile(module).returncode != 0:
                skipped += 1
                continue
            failed = tree.test(module)
        finally:
            file.write_text(original)
        if failed is None:
            survivors.append(what)
            print(f"SURVIVED {what}", flush=True)
        else:
            killed += 1
            print(f"killed   {what}\n         by {failed}", flush=True)
    total = killed + len(survivors)
    minutes = (time.monotonic() - started) / 60
    print(f"== {killed} of {total} mutants killed ({100 * killed // max(total, 1)} %), "
          f"{skipped} did not compile, {minutes:.0f} min")
    results = {"killed": killed, "total": total, "survivors": survivors}
    (source / "build" / "mutate" / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    if survivors:
        print("survivors:")
        for what in survivors:
            print(f"  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
