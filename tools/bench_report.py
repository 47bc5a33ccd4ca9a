#!/usr/bin/env python3
"""Turns the JSON of the benchmark programs into Markdown tables and a plot (SVG).

Needs nothing but Python's standard library (3.8 or newer). `./dev bench` runs it.
"""

import argparse
import html
import json
import pathlib
import re
import sys

OURS = "engine"
BASELINE = "memcpy"
NAIVE = "naive loop"
SECTIONS = {
    "reference": "Reference layouts",
    "off_table": "Other layouts",
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=pathlib.Path, help="JSON of bench_compare or bench_strided")
    parser.add_argument("--handles", type=pathlib.Path, help="JSON of bench_tensor")
    parser.add_argument("--command", help="what to name as the command that made the results")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables to this file")
    parser.add_argument("--svg", type=pathlib.Path, help="write the plot to this file")
    parser.add_argument(
        "--goals",
        type=pathlib.Path,
        help="a Markdown table with the columns case, size, must and moon; prints ours beside them",
    )
    parser.add_argument(
        "--other-goals",
        type=float,
        nargs=2,
        metavar=("MUST", "MOON"),
        help="goals for the layouts off the table, which are to be as fast as any peer besides",
    )
    return parser.parse_args()


def rows_of(results, section):
    return [row for row in results["rows"] if row["section"] == section]


def contenders_in(rows):
    """Names in order of first appearance, the baseline left out."""
    names = []
    for row in rows:
        for name in row["results"]:
            if name not in names and name != row["baseline"]:
                names.append(name)
    return names


def ratio(row, name):
    result = row["results"].get(name)
    return None if result is None else result["ratio"]


def best_peer(row):
    """(ratio, name) of the fastest library that is not ours; None without any."""
    peers = [
        (result["ratio"], name)
        for name, result in row["results"].items()
        if name not in (OURS, BASELINE, NAIVE)
    ]
    return max(peers, default=None)


def table(header, lines):
    """A Markdown table; the first column is text, the others numbers."""
    rule = ["---"] + ["--:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, rule, *lines]) + "\n"


# --- Markdown ---


def ratio_table(rows):
    names = contenders_in(rows)
    lines = []
    for row in rows:
        base = row["results"][row["baseline"]]
        line = [f"{row['name']} {row['size']}", f"{row['bytes'] / base['ns']:.0f}"]
        values = [ratio(row, name) for name in names]
        best = max(value for value in values if value is not None)
        for name, value in zip(names, values):
            if value is None:
                line.append("")
                continue
            mark = "\\*" if "difference" in row["results"][name] else ""
            text = f"{value:.2f}{mark}"
            line.append(f"**{text}**" if round(value, 2) == round(best, 2) else text)
        lines.append(line)
    return table(["layout", "memcpy GB/s", *names], lines)


def tiny_table(rows):
    names = [BASELINE, *contenders_in(rows)]
    names.sort(key=lambda name: (name != BASELINE, not name.startswith(OURS)))
    lines = []
    for row in rows:
        cells = [row["results"].get(name) for name in names]
        times = ["" if cell is None else f"{cell['ns']:.1f}" for cell in cells]
        lines.append([row["name"], *times])
    return table(["4 x 4 elements, ns per call", *names], lines)


def data_table(rows):
    kinds = ["zeros", "subnormals", "subnormal results", "NaNs", "infinities"]
    lines = []
    for row in rows:
        line = [f"{row['src']} to {row['dst']}"]
        for kind in kinds:
            ratios = [ratio(row, name) for name in (kind, "1 in 8 " + kind)]
            slowdowns = [1 / value for value in ratios if value is not None]
            line.append(f"{max(slowdowns):.2f}" if slowdowns else "")
        lines.append(line)
    return table(["cast", *kinds], lines)


def checked_table(rows):
    lines = []
    for row in rows:
        slowdown = 1 / ratio(row, OURS)
        lines.append([f"{row['src']} to {row['dst']} {row['size']}", f"{slowdown:.2f}"])
    return table(["cast", "checked / unchecked"], lines)


def handles_table(handles):
    times = {}
    for entry in handles["benchmarks"]:
        threads, name = entry["name"].split("/", 1)
        name = re.sub(r"(?<!^)(?=[A-Z])", " ", name.replace("BM_", "")).lower()
        times.setdefault(name, {})[threads] = entry["cpu_time"]
    lines = [
        [name, *(f"{pair.get(key, 0):.1f}" for key in ("single_threaded", "threaded"))]
        for name, pair in times.items()
    ]
    return table(["ns", "before any thread existed", "after"], lines)


def summary(results):
    lines = []
    for section, title in SECTIONS.items():
        rows = rows_of(results, section)
        if not rows:
            continue
        with_peer = [row for row in rows if best_peer(row) is not None]
        ahead = [row for row in with_peer if ratio(row, OURS) >= 0.99 * best_peer(row)[0]]
        ratios = sorted(ratio(row, OURS) for row in rows)
        text = f"- {title}: median {ratios[len(ratios) // 2]:.2f} of memcpy, lowest {ratios[0]:.2f}"
        if with_peer:
            text += f"; as fast as the fastest peer, or faster, in {len(ahead)} of {len(with_peer)}"
        lines.append(text + ".")
    return "\n".join(lines) + "\n"


def machine(results, command):
    context = results["context"]
    caches = context["caches"]
    versions = [
        contender["name"] + (f" ({contender['version']})" if contender["version"] else "")
        for contender in results["contenders"]
    ]
    pages = "huge pages asked for" if context["huge_pages"] else "4 KiB pages"
    pinned = context["pinned_to"]
    where = "not pinned" if pinned is None else f"pinned to processor {pinned}"
    lines = [
        ("Date", context["date"]),
        ("CPU", context["cpu"]),
        ("Caches", ", ".join(f"{name[:2].upper()} {size} KiB" for name, size in caches.items())),
        ("Compiler", f"{context['compiler']}, {context['build']}"),
        ("Kernels", context["target"]),
        ("Run", f"one thread, {where}, {pages}, {context['rounds']} rounds"),
        ("Command", f"`{command or context['command']}`"),
        ("Measured", ", ".join(versions)),
    ]
    missing = [f"{peer['name']} ({peer['reason']})" for peer in results["missing"]]
    if missing:
        lines.append(("Not measured", "; ".join(missing)))
    return "| | |\n|---|---|\n" + "".join(f"| {key} | {value} |\n" for key, value in lines)


METHOD = """\
Figures are **ratios: the time of `memcpy` over the time of the copy or cast**, for the same number of bytes
read plus written; 1 is memcpy's speed. Times drift on shared machines, ratios hold: in every round each
contender runs once untimed, then timed, memcpy among them, and the median is taken of the ratios within
the rounds (a slow contender sits out rounds, ours never). Plans and peers' objects are made beforehand;
memory is warm. The fastest of a row is bold; a star marks a result that differs from ours by the library's
own definition (oneDNN rounds to nearest where the others truncate). Every other result was compared with
ours, byte for byte, before it was timed. Above the last-level cache, differences below about 0.1 are noise.
"""


def markdown(results, handles, command, svg):
    parts = ["# Performance\n", "Generated by `tools/bench_report.py`; do not edit.\n"]
    parts += [machine(results, command), METHOD, summary(results)]
    if svg is not None:
        parts.append(f"![Ratios to memcpy, per layout]({svg.name})\n")
    for section, title in SECTIONS.items():
        rows = rows_of(results, section)
        if rows:
            parts += [f"## {title}\n", ratio_table(rows)]
    extra = [
        ("tiny", "The cost of a call", "", tiny_table),
        (
            "checked",
            "Checked conversions",
            "A cast to integers checks every element. Time over that of a loop that does not, compiled\n"
            "with `-O3 -march=native`.\n",
            checked_table,
        ),
        (
            "data",
            "Special values",
            "Time over that of ordinary values; the worse of data that is all of the kind and data one in\n"
            "eight of which is.\n",
            data_table,
        ),
    ]
    for section, title, text, make in extra:
        rows = rows_of(results, section)
        if rows:
            parts += [f"## {title}\n", *([text] if text else []), make(rows)]
    if handles is not None and handles["benchmarks"]:
        parts += [
            "## Handles and views\n",
            "Reference counts are plain integers until the process has had a second thread.\n",
            handles_table(handles),
        ]
    return "\n".join(parts)


# --- Plot ---

# Colours that most colour-blind people tell apart (Okabe and Ito), with a shape each.
PEER_MARKS = [
    ("#E69F00", "circle"),
    ("#009E73", "square"),
    ("#CC79A7", "triangle"),
    ("#D55E00", "diamond"),
    ("#56B4E9", "down"),
    ("#882255", "circle"),
]
NAIVE_MARK = ("#777777", "cross")
OURS_COLOUR = "#0072B2"

ROW_HEIGHT = 16
PANEL_WIDTH = 255
LABEL_WIDTH = 215
GAP = 28
MAX_RATIO = 1.25


def shape(colour, name):
    """A mark at the origin."""
    if name == "cross":
        return f'<path d="M-3-3L3 3M-3 3L3-3" stroke="{colour}" stroke-width="1.5"/>'
    style = f'fill="{colour}" stroke="#fff" stroke-width="0.6"'
    if name == "circle":
        return f'<circle r="3.4" {style}/>'
    points = {
        "square": "-3,-3 3,-3 3,3 -3,3",
        "triangle": "0,-4 4,3 -4,3",
        "diamond": "0,-4.4 4.4,0 0,4.4 -4.4,0",
        "down": "0,4 4,-3 -4,-3",
    }[name]
    return f'<polygon points="{points}" {style}/>'


class Svg:
    def __init__(self):
        self.parts = []
        self.marks = []

    def add(self, text):
        self.parts.append(text)

    def text(self, x, y, content, anchor="start", size=11, colour="#222", weight="normal"):
        self.add(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}" font-weight="{weight}">{html.escape(content)}</text>'
        )

    def line(self, x1, y1, x2, y2, colour, width=1.0):
        self.add(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"/>'
        )

    def mark(self, x, y, mark):
        if mark not in self.marks:
            self.marks.append(mark)
        self.add(f'<use href="#m{self.marks.index(mark)}" x="{x:.1f}" y="{y:.1f}"/>')

    def document(self, width, height):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif">\n'
            "<defs>\n"
            + "".join(f'<g id="m{i}">{shape(*mark)}</g>\n' for i, mark in enumerate(self.marks))
            + f'</defs>\n<rect width="{width}" height="{height}" fill="#fff"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def marks_for(results):
    names = [c["name"] for c in results["contenders"] if c["name"] not in (OURS, BASELINE)]
    peers = [name for name in names if name != NAIVE]
    marks = {name: PEER_MARKS[i % len(PEER_MARKS)] for i, name in enumerate(peers)}
    if NAIVE in names:
        marks[NAIVE] = NAIVE_MARK
    return marks


def draw_panel(svg, left, top, title, rows, marks):
    """`rows` may hold None: a line left empty."""
    height = len(rows) * ROW_HEIGHT
    scale = PANEL_WIDTH / MAX_RATIO
    svg.text(left + PANEL_WIDTH / 2, top - 20, title, "middle", 12, weight="bold")
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + tick * scale
        colour, width = ("#222", 1.2) if tick == 1 else ("#ddd", 0.8)
        svg.line(x, top, x, top + height, colour, width)
        svg.text(x, top - 5, "memcpy" if tick == 1 else f"{tick:g}", "middle", 9, "#555")
    for i, row in enumerate(rows):
        if row is None:
            continue
        middle = top + (i + 0.5) * ROW_HEIGHT
        ours = min(ratio(row, OURS), MAX_RATIO)
        svg.add(
            f'<rect x="{left}" y="{middle - 4.5:.1f}" width="{ours * scale:.1f}" height="9" '
            f'fill="{OURS_COLOUR}" fill-opacity="0.75"/>'
        )
        values = {name: ratio(row, name) for name in marks if ratio(row, name) is not None}
        for name, value in values.items():
            svg.mark(left + min(value, MAX_RATIO) * scale, middle, marks[name])
        beyond = max([ratio(row, OURS), *values.values()])
        if beyond > MAX_RATIO:
            svg.text(left + PANEL_WIDTH + 5, middle + 3, f"{beyond:.1f}", size=8, colour="#555")


def draw_labels(svg, left, top, labels, panels=1):
    """Right-aligned at `left`, on bands that lead the eye through the panels."""
    width = LABEL_WIDTH - 10 + panels * PANEL_WIDTH + (panels - 1) * GAP
    for i, label in enumerate(labels):
        if i % 2 == 1:
            svg.add(
                f'<rect x="{left - LABEL_WIDTH + 10:.1f}" y="{top + i * ROW_HEIGHT:.1f}" '
                f'width="{width:.1f}" height="{ROW_HEIGHT}" fill="#f4f4f4"/>'
            )
        svg.text(left - 8, top + (i + 0.5) * ROW_HEIGHT + 4, label, "end")


def draw_legend(svg, left, top, marks):
    svg.add(
        f'<rect x="{left}" y="{top - 8}" width="24" height="9" fill="{OURS_COLOUR}" '
        'fill-opacity="0.75"/>'
    )
    svg.text(left + 30, top, OURS)
    x = left + 100
    for name, mark in marks.items():
        svg.mark(x, top - 4, mark)
        svg.text(x + 8, top, name)
        x += 30 + 7 * len(name)


def size_class(row):
    """The panel of a reference row: sizes that are named after themselves fit the L3."""
    return row["size"] if row["size"] in ("L2", "DRAM") else "L3"


TITLES = {"L2": "256 KiB (L2)", "L3": "8 MiB (L3)", "DRAM": "256 MiB (memory)"}


def draw_reference(svg, top, rows, marks):
    """One line per layout, one panel per size. A layout at two sizes of one class has two lines."""
    lines = {}
    for row in rows:
        label, where = row["name"], size_class(row)
        if where in lines.setdefault(label, {}):
            label = f"{row['name']} {row['size']}"
        lines.setdefault(label, {})[where] = row
    panels = [panel for panel in TITLES if any(panel in line for line in lines.values())]
    draw_labels(svg, LABEL_WIDTH, top, list(lines), len(panels))
    for i, panel in enumerate(panels):
        left = LABEL_WIDTH + i * (PANEL_WIDTH + GAP)
        part = [line.get(panel) for line in lines.values()]
        draw_panel(svg, left, top, TITLES[panel], part, marks)
    return top + len(lines) * ROW_HEIGHT


def draw_others(svg, top, rows, marks):
    """Two columns of lines."""
    half = (len(rows) + 1) // 2
    for column in (0, 1):
        part = rows[column * half : (column + 1) * half]
        left = LABEL_WIDTH + column * (PANEL_WIDTH + LABEL_WIDTH + GAP)
        if part:
            draw_labels(svg, left, top, [f"{row['name']} {row['size']}" for row in part])
            draw_panel(svg, left, top, SECTIONS["off_table"], part, marks)
    return top + half * ROW_HEIGHT


def plot(results):
    svg = Svg()
    marks = marks_for(results)
    context = results["context"]
    title = "Speed of copies and casts relative to memcpy of the same bytes"
    svg.text(16, 26, title, size=15, weight="bold")
    where = f"{context['cpu']}, {context['compiler']}, one thread, {context['date']}"
    svg.text(16, 44, where, colour="#555")
    draw_legend(svg, 16, 68, marks)
    bottom = 68
    reference = rows_of(results, "reference")
    if reference:
        bottom = draw_reference(svg, bottom + 50, reference, marks)
    others = rows_of(results, "off_table")
    if others:
        bottom = draw_others(svg, bottom + 60, others, marks)
    return svg.document(LABEL_WIDTH + 3 * (PANEL_WIDTH + GAP) + 10, bottom + 20)


# --- Goals ---


def read_goals(path):
    """{(case, size): (must, moon)} from the rows of a Markdown table that has these columns."""
    goals, columns = {}, None
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if columns is None:
            if {"case", "size", "must", "moon"} <= set(cells):
                columns = {name: cells.index(name) for name in ("case", "size", "must", "moon")}
        elif len(cells) > max(columns.values()) and not cells[0].startswith("--"):
            key = (cells[columns["case"]], cells[columns["size"]])
            goals[key] = (float(cells[columns["must"]]), float(cells[columns["moon"]]))
        elif len(cells) <= max(columns.values()):
            break
    return goals


def goals_report(results, goals, other_goals):
    lines = []
    counts = {"moon": 0, "must": 0, "below": 0}
    for row in results["rows"]:
        peer = best_peer(row)
        goal = None
        if row["section"] == "reference":
            goal = goals.get((row["name"], row["size"]))
        elif row["section"] == "off_table" and other_goals is not None:
            goal = [max(value, peer[0] if peer else 0) for value in other_goals]
        if goal is None:
            continue
        must, moon = goal
        ours = ratio(row, OURS)
        # 5 % for noise.
        verdict = "moon" if ours >= 0.95 * moon else "must" if ours >= 0.95 * must else "below"
        counts[verdict] += 1
        best = "" if peer is None else f"{peer[1]} {peer[0]:.2f}"
        figures = [f"{value:.2f}" for value in (ours, must, moon)]
        lines.append([row["name"], row["size"], *figures, best, verdict])
    text = table(["case", "size", "ours", "must", "moon", "best peer", "reached"], lines)
    totals = ", ".join(f"{verdict}: {count}" for verdict, count in counts.items())
    return f"{text}\n{totals}\n"


def main():
    arguments = parse_arguments()
    results = json.loads(arguments.results.read_text())
    # The file is empty when a filter left no handles to measure.
    text = arguments.handles.read_text() if arguments.handles else ""
    handles = json.loads(text) if text else None
    if arguments.svg:
        arguments.svg.write_text(plot(results))
    if arguments.markdown:
        text = markdown(results, handles, arguments.command, arguments.svg)
        arguments.markdown.write_text(text)
    if arguments.goals:
        goals = read_goals(arguments.goals)
        sys.stdout.write(goals_report(results, goals, arguments.other_goals))


if __name__ == "__main__":
    main()
