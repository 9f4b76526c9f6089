"""A terminal session as an SVG that plays by itself once. Knows nothing of what is run; the same lines give the same bytes.

Where nothing moves (reduced motion, a printer, an old browser) the last screen is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Literal

_COLUMNS, _ROWS = 100, 28
_WIDTH, _HEIGHT, _SIZE, _MARGIN = 8.4, 18, 14, 16  # of a character, of a line, of the font, in pixels
_SECONDS = {"command": 1.4, "comment": 1.0, "output": 0.12}  # from the line before
_READING_SECONDS = 1.6  # after the last line of an output

Kind = Literal["command", "comment", "output"]


@dataclass(frozen=True, slots=True)
class Line:
    """What is typed, what is printed, or what we say about it. `prompt` stands before what is typed."""

    kind: Kind
    text: str
    prompt: str = ""


def picture(lines: Sequence[Line], title: str) -> str:
    """The SVG."""
    rows = [row for line in lines for row in _rows(line)]
    times = _times(rows)
    width, height = _COLUMNS * _WIDTH + 2 * _MARGIN, _ROWS * _HEIGHT + 2 * _MARGIN
    end = times[-1] + 1
    scrolls = [(0.0, 0), *((time, max(0, number - _ROWS)) for number, time in enumerate(times, 1) if number > _ROWS)]
    frames = "".join(f"{time / end:.2%}{{transform:translateY({-up * _HEIGHT}px)}}" for time, up in scrolls)
    texts = "\n".join(_text(row, number, time) for number, (row, time) in enumerate(zip(rows, times, strict=True)))
    last = scrolls[-1][1] * _HEIGHT
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img">
<title>{escape(title)}</title>
<style>
text{{font:{_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#c9d1d9;white-space:pre}}
.command{{fill:#fff;font-weight:600}} .prompt{{fill:#7ee787;font-weight:400}} .comment{{fill:#8b949e}}
@media (prefers-reduced-motion:no-preference){{
#screen{{animation:scroll {end:.2f}s step-end both}}
text{{animation:show 1ms both}}
}}
@keyframes show{{from{{opacity:0}}to{{opacity:1}}}}
@keyframes scroll{{{frames}to{{transform:translateY({-last}px)}}}}
</style>
<clipPath id="window"><rect x="0" y="{_MARGIN}" width="{width:g}" height="{_ROWS * _HEIGHT}"/></clipPath>
<rect width="{width:g}" height="{height:g}" rx="8" fill="#161b22"/>
<g clip-path="url(#window)"><g id="screen" transform="translate(0 {-last})">
{texts}
</g></g>
</svg>
"""


def _rows(line: Line) -> list[Line]:
    """A line on as many rows as it needs, broken between words."""
    rows = wrap(line.prompt + line.text, _COLUMNS, drop_whitespace=False, break_on_hyphens=False) or [""]
    first = Line(line.kind, rows[0].removeprefix(line.prompt), line.prompt)
    return [first, *(Line(line.kind, row) for row in rows[1:])]


def _times(rows: Sequence[Line]) -> list[float]:
    """When each row is seen."""
    times = []
    now = 0.0
    for before, row in zip([None, *rows], rows, strict=False):
        goes_on = row.kind != "output" and not row.prompt and before is not None and before.kind == row.kind
        if before is not None and not goes_on:
            now += _SECONDS[row.kind] + (_READING_SECONDS if before.kind == "output" and row.kind != "output" else 0)
        times.append(now)
    return times


def _text(row: Line, number: int, time: float) -> str:
    prompt = f'<tspan class="prompt">{escape(row.prompt)}</tspan>' if row.prompt else ""
    y = _MARGIN + (number + 1) * _HEIGHT - 5
    return (
        f'<text class="{row.kind}" x="{_MARGIN}" y="{y}" xml:space="preserve" style="animation-delay:{time:.2f}s">'
        f"{prompt}{escape(row.text)}</text>"
    )
