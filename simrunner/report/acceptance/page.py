"""acceptance.html: the same report as one page that needs nothing else."""

from __future__ import annotations

import html
import re
from itertools import pairwise
from string import Template

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --good: #1a7f37; --bad: #cf222e; --open: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #4ac26b; --bad: #ff7b72; --open: #d4a72c; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem 1.25rem 4rem;
  overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
h3 { margin-top: 2rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
th { background: var(--soft); }
code { font-size: .9em; background: var(--soft); padding: 0 .2em; border-radius: 3px; }
li { margin: .15rem 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
</style>
</head>
<body>
$body</body>
</html>
""")

_CLASSES = {
    "good": ("PASSED", "ACCEPTED", "holds"),
    "bad": ("FAILED", "REJECTED", "VIOLATED"),
    "open": ("UNKNOWN", "NOT EXERCISED", "NOT EXECUTED", "INCONCLUSIVE", "unknown", "not exercised"),
}
_CLASS_OF = {word: name for name, words in _CLASSES.items() for word in words}
_STRONG = re.compile(r"<strong>([\w ]+)</strong>")


def html_page(markdown: str, title: str) -> str:
    """Return a Markdown text as a page of its own: headings can be linked to, verdicts are coloured, wide tables scroll."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(markdown)
    _name_headings(tokens)
    body = parser.renderer.render(tokens, parser.options, {})
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    return _PAGE.substitute(title=html.escape(title), body=_STRONG.sub(_coloured, body))


def _name_headings(tokens: list[Token]) -> None:
    for heading, text in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", re.sub(r"[^\w-]", "", text.content.lower().replace(" ", "-")))


def _coloured(match: re.Match[str]) -> str:
    name = _CLASS_OF.get(match[1])
    return match[0] if name is None else f'<strong class="{name}">{match[1]}</strong>'
