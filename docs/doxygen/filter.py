#!/usr/bin/env python3
"""filter.py <file>: prints a header or Markdown file as Doxygen wants it, line by line.

Headers carry plain comments, written for people who read the header. Here
  - the banner becomes the file's description,
  - a comment above a declaration, or behind it on its line, becomes its documentation,
  - a declaration that directly follows one of the same name is an overload of it,
  - `   Errors   text` becomes a paragraph with a title, and indented code a code block,
  - what is no interface of ours disappears: bodies, deleted and defaulted special members, aliases that
    every container has, the insides of iterators and of specialisations of fmt's and the standard
    library's templates.
Markdown files get ids for their headings, and links to other documents become references to them.

Every line of the input is one line of the output, so that Doxygen's warnings name the right one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

TERM = re.compile(r"^ {2,4}([A-Za-z]\S*(?: \S+){0,2}?)(?: {2,}|:  +)(\S.*)$")
SPECIAL_MEMBER = re.compile(r"=\s*(?:default|delete)\s*;")
SCOPE = re.compile(r"^\s*(?:(?:public|private):\s*)*(?:template\s*<.*>\s*)?(?:requires.*\s)?(?:inline\s+)?"
                   r"(?:namespace|class|struct|union|enum)\b")
FOREIGN = re.compile(r"\b(?:struct|class)\s+(?:(?:fmt::formatter|std::numeric_limits)\s*<|\S*\bIterator\b)")
# Aliases that the standard asks of containers and iterators, and that mean what it says.
STANDARD_ALIAS = re.compile(r"^\s*using (?:(?:value|element|size|difference)_type|reference|pointer|"
                            r"(?:const_)?iterator|iterator_category) =")
FUNCTION_NAME = re.compile(r"(operator\s*\S{1,2}|~?\w+)\s*\(")


def escape(text):
    """Text in which Doxygen and Markdown see nothing special; code in backticks stays."""
    if text and set(text) == {"~"}:  # underlines the title of a note
        return ""
    text = text.replace(">::", ">\0")
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner on this line
        return re.sub(r"([\\@<>&#%*`|])", r"\\\1", text).replace("\0", r"\::")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\@<>&#%*|])", r"\\\1", parts[i])
    for i, part in enumerate(parts):
        parts[i] = part.replace("\0", r"\::" if i % 2 == 0 else "::")
    return "`".join(parts)


def block(lines):
    """The texts of consecutive comment lines (behind `//`) as those of a documentation comment."""
    out = []
    code = False
    for i, text in enumerate(lines):
        stripped = text.strip()
        term = TERM.match(text)
        if code and (not stripped or not text.startswith("   ")):
            code = False
            if not stripped:
                out.append(r" \endcode")
                continue
            out[-1] += r" \endcode"
        if code:
            out.append(text)
        elif not stripped:
            following = lines[i + 1] if i + 1 < len(lines) else ""
            if following.startswith("   ") and not TERM.match(following):
                code = True
                out.append(r" \code{.cpp}")
            else:
                out.append("")
        elif term:
            out.append(rf" \term{{{escape(term[1])}}} {escape(term[2])}")
        else:
            out.append(" " + escape(stripped))
    if code:
        out[-1] += r" \endcode"
    return out


class Scopes:
    """Follows braces and parentheses: whether a line stands where declarations stand."""

    def __init__(self):
        self.stack = []  # of "scope", "foreign" or "body"
        self.statement = ""  # since the last brace or semicolon
        self.depth = 0  # of parentheses

    def declares(self):
        return all(kind == "scope" for kind in self.stack) and self.depth == 0

    def foreign(self):
        return "foreign" in self.stack

    def feed(self, code):
        for char in code:
            if char == "(":
                self.depth += 1
            elif char == ")":
                self.depth -= 1
            if char == "{":
                if self.depth == 0 and FOREIGN.search(self.statement):
                    kind = "foreign"
                elif self.depth == 0 and SCOPE.match(self.statement.strip()):
                    kind = "scope"
                else:
                    kind = "body"
                self.stack.append(kind)
                self.statement = ""
            elif char == "}":
                if self.stack:
                    self.stack.pop()
                self.statement = ""
            elif char == ";" and self.depth == 0:
                self.statement = ""
            else:
                self.statement += char
        self.statement += " "


def split_comment(line):
    """The code of a line, and the text of the comment behind it or None."""
    quote = ""
    for i, char in enumerate(line):
        if quote:
            if char == quote and line[i - 1] != "\\":
                quote = ""
        elif char == '"' or (char == "'" and not line[i - 1 : i].isalnum()):
            quote = char
        elif line.startswith("//", i):
            return line[:i], line[i + 2 :]
    return line, None


def plain_code(code):
    """Code without its string and character literals, whose braces do not count."""
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', '""', code)


def name_at(lines, i):
    """The name of the function that the declaration from line `i` declares; empty for others."""
    while re.match(r"\s*(template|requires)\b", lines[i]):
        i += 1
    text = ""
    for line in lines[i : i + 4]:  # a long return type stands on lines of its own
        code, _ = split_comment(line)
        text += code + " "
        if re.search(r"[;{(]", code):
            break
    match = FUNCTION_NAME.search(re.sub(r"\[\[.*?\]\]|explicit\(.*?\)|decltype\(.*?\)", "", text))
    return match[1] if match else ""


def is_special_member(statement):
    """Whether a whole declaration defaults or deletes a special member."""
    return bool(SPECIAL_MEMBER.search(statement)) and "template" not in statement


def is_standard_alias(statement):
    return bool(STANDARD_ALIAS.match(statement))


def filter_header(text):
    # Protected members are for our own derived classes.
    lines = re.sub(r"(?m)^ protected:$", " private:", text).split("\n")
    out = []
    scopes = Scopes()
    i = 0
    # The banner.
    end = 0
    while end < len(lines) and lines[end].startswith("//"):
        end += 1
    if end:
        texts = block([line[2:] for line in lines[:end]])
        # The first line is "path: what it is."
        title = texts[0].split(": ", 1)
        texts[0] = r" \file " + title[0].strip() + r" \brief " + title[-1]
        out += ["///" + line for line in texts]
        i = end
    name = ""  # of the function declared above, if it is documented
    in_macro = False
    while i < len(lines):
        line = lines[i]
        code, comment = split_comment(line)
        if in_macro or line.startswith("#"):
            in_macro = line.endswith("\\")
            guard = re.match(r"#define ENGINE_\w+_H_$", line)
            out.append("" if guard else line)
            i += 1
            name = ""
            continue
        if not code.strip() and comment is not None:
            end = i
            while end < len(lines) and re.match(r"\s*//", lines[end]):
                end += 1
            indent = len(line) - len(line.lstrip())
            texts = [item[indent + 2 :] for item in lines[i:end]]
            attached = end < len(lines) and lines[end].strip() not in ("", "}") and scopes.declares()
            if attached and not re.match(r"\s*(static_assert|private:)", lines[end]):
                out += [" " * indent + "///" + item for item in block(texts)]
                name = name_at(lines, end)
                documented = True
            else:
                out += lines[i:end]
                name = ""
                documented = False
            i = end
            if documented and not lines[i].startswith("#"):
                i = declaration(lines, i, scopes, out, True)
            continue
        if not line.strip():
            name = ""
            out.append(line)
            i += 1
            continue
        if scopes.foreign():
            scopes.feed(plain_code(code))
            out.append(code if not scopes.foreign() else "")
            i += 1
            continue
        if not scopes.declares():
            scopes.feed(plain_code(code))
            out.append(code.rstrip())
            i += 1
            continue
        overload = bool(name) and name_at(lines, i) == name
        first = len(out)
        i = declaration(lines, i, scopes, out, False)
        if overload:
            out[first] = r"/** \overload */ " + out[first]
        else:
            name = ""
    return "\n".join(out)


def declaration(lines, i, scopes, out, documented):
    """Copies one declaration, up to its body's end, from line `i`; returns the next line."""
    first = i
    statement = ""
    depth = len(scopes.stack)
    while i < len(lines):
        code, comment = split_comment(lines[i])
        hidden = scopes.foreign()
        scopes.feed(plain_code(code))
        hidden = hidden and scopes.foreign()
        statement += code + "\n"
        if hidden:
            out.append("")
        elif comment is not None and "NOLINT" not in comment and scopes.declares():
            out.append(code + "///< " + escape(comment.strip()))
            # A comment that goes on below, in the same column.
            column = len(code)
            while i + 1 < len(lines) and lines[i + 1].startswith(" " * column + "//"):
                i += 1
                out.append(" " * column + "///< " + escape(lines[i][column + 2 :].strip()))
        else:
            out.append(code.rstrip())
        i += 1
        opened = len(scopes.stack) > depth
        if opened and all(kind == "scope" for kind in scopes.stack):
            break  # a scope of declarations
        if not opened and scopes.depth == 0 and not scopes.statement.strip():
            break
        if not opened and code.rstrip().endswith((",", ":")) and scopes.depth == 0 and (
                scopes.stack and "(" not in statement and "template" not in statement):
            break  # an enumerator, or `public:`
        if len(scopes.stack) < depth:
            break
    if not documented and (is_special_member(statement) or is_standard_alias(statement)):
        for k in range(first, i):
            out[len(out) - (i - k)] = ""
    return i


def slug(title):
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")


def page_id(path):
    relative = path.resolve().relative_to(ROOT).with_suffix("")
    return "page_" + slug(str(relative))


def filter_markdown(path, text):
    """Doxygen's own ids and relative links differ between its releases: spelled out here."""

    def link(match):
        label, target = match[1], match[2]
        if re.match(r"[a-z]+:", target):
            return match[0]
        file, _, anchor = target.partition("#")
        goal = (path.parent / file).resolve() if file else path
        if goal.suffix == ".md" and is_page(goal):
            identifier = page_id(goal) + (("_" + slug(anchor)) if anchor else "")
            return f"[{label}](@ref {identifier})"
        return label  # a source file: not part of the site

    out = []
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            out.append(line)
            continue
        heading = re.match(r"(#+) (.*)$", line)
        if fenced or line.startswith("    "):
            out.append(line)
        elif heading and len(heading[1]) == 1:
            out.append(f"{line} {{#{page_id(path)}}}")
        elif heading:
            out.append(f"{line} {{#{page_id(path)}_{slug(heading[2])}}}")
        else:
            out.append(re.sub(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)", link, line))
    return "\n".join(out)


def is_page(path):
    relative = str(path.relative_to(ROOT))
    return path.is_file() and (relative.startswith("docs/") or relative in PAGES)


PAGES = ("CHANGELOG.md",)


def main():
    path = pathlib.Path(sys.argv[1]).resolve()
    text = path.read_text(encoding="utf-8")
    print(filter_markdown(path, text) if path.suffix == ".md" else filter_header(text), end="")


if __name__ == "__main__":
    main()
