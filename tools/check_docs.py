#!/usr/bin/env python3
"""check_docs.py <xml folder>: every public symbol of the installed headers has documentation.

Reads Doxygen's XML of everything (EXTRACT_ALL), so that a symbol which Doxygen would leave out
silently counts as undocumented, and the headers that src/CMakeLists.txt declares, so that one which
Doxygen was not given does too. `./dev docs` runs it.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

# Not ours: see docs/doxygen/Doxyfile.
FOREIGN_HEADERS = {"interop/dlpack_abi.h"}

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMPOUNDS = ("class", "struct", "union", "namespace", "concept")
# What a user does not name.
EXEMPT = re.compile(r"(^|::)internal(::|$)|^ENGINE_INTERNAL_|_H_$")


def installed_headers():
    """The paths, from src/, of the headers that modules declare as public."""
    text = (ROOT / "src/CMakeLists.txt").read_text(encoding="utf-8")
    headers = set()
    for module in re.findall(r"engine_add_module\((.*?)\n?\)", text, re.S):
        words = module.split()
        folder = words[words.index("FOLDER") + 1]
        for word in words[words.index("HEADERS") + 1 :]:
            if not word.endswith(".h"):
                break
            headers.add(f"{folder}/{word}")
    return headers - FOREIGN_HEADERS


def documented(element):
    for kind in ("briefdescription", "detaileddescription"):
        text = "".join(element.find(kind).itertext()).strip()
        if text:
            return True
    return False


def location(element):
    place = element.find("location")
    return f"{place.get('file')}:{place.get('line')}" if place is not None else "?"


def members(compound):
    """(name, element) of the compound's public members and their enumerators."""
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            if member.get("prot") not in ("public", None) or member.get("kind") == "friend":
                continue
            name = (member.findtext("qualifiedname") or member.findtext("name")).strip()
            yield name, member
            for value in member.findall("enumvalue"):
                yield f"{name}::{value.findtext('name')}", value


def main():
    folder = pathlib.Path(sys.argv[1])
    headers = installed_headers()
    seen = set()
    symbols = {}  # by id
    for file in sorted(folder.glob("*.xml")):
        compound = ElementTree.parse(file).getroot().find("compounddef")
        if compound is None:
            continue
        name = compound.findtext("compoundname").strip()
        kind = compound.get("kind")
        if kind == "file":
            path = compound.find("location").get("file").removeprefix("src/")
            if path in headers:
                seen.add(path)
                symbols[compound.get("id")] = (path, location(compound), documented(compound))
        elif kind not in COMPOUNDS or EXEMPT.search(name) or compound.get("prot") == "private":
            continue
        elif name.startswith("engine::") and name.endswith(">"):
            continue  # a specialisation: the template says what it is
        else:
            symbols[compound.get("id")] = (name, location(compound), documented(compound))
        for member_name, member in members(compound):
            if not EXEMPT.search(member_name):
                identifier = member.get("id")
                symbols[identifier] = (member_name, location(member), documented(member))

    faults = [f"src/{path}: not read by Doxygen" for path in sorted(headers - seen)]
    for name, place, is_documented in symbols.values():
        if not is_documented:
            faults.append(f"{place}: {name} is not documented")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(symbols)} public symbols of {len(headers)} headers, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
