"""acceptance.html: links lead to headings, verdicts are coloured, nothing of a name is taken for markup of the page."""

from __future__ import annotations

from simrunner.report.acceptance.page import html_page

PAGE = html_page(
    "# Report\n\n| experiment | verdict |\n|---|---|\n| [high-depth](#high-depth) | **PASSED** |\n| x | **FAILED** |\n\n"
    "### high-depth\n\n**UNKNOWN** and **bold**, <script>alert(1)</script>\n",
    "A <title>",
)


def test_a_link_leads_to_its_heading() -> None:
    assert '<a href="#high-depth">' in PAGE
    assert '<h3 id="high-depth">' in PAGE


def test_verdicts_are_coloured_and_other_words_are_not() -> None:
    assert '<strong class="good">PASSED</strong>' in PAGE
    assert '<strong class="bad">FAILED</strong>' in PAGE
    assert '<strong class="open">UNKNOWN</strong>' in PAGE
    assert "<strong>bold</strong>" in PAGE


def test_wide_tables_scroll() -> None:
    assert '<div class="wide"><table>' in PAGE


def test_texts_stay_texts() -> None:
    assert "<script>" not in PAGE
    assert "<title>A &lt;title&gt;</title>" in PAGE


def test_it_needs_nothing_else() -> None:
    assert "src=" not in PAGE
    assert "<link" not in PAGE
