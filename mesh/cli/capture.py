"""`mesh capture`: take finished sessions of coding agents in, to harvest from. They stay on this machine."""

import os
import time

from clan_learnings.sessions.analysis import real_analysts
from clan_learnings.sessions.capture import Capture, CaptureReport
from clan_learnings.sessions.capture_settings import CaptureSettings, keep_within, read_settings, write_settings
from clan_learnings.sessions.catalogue_table import PREFIX_CHARS, Catalogue, has_catalogue
from clan_learnings.sessions.recognition import all_flavours
from clan_learnings.sessions.session_folders import AGENTS, discover, refuse_missing, refuse_unknown
from mesh.cli.erase import finish_soon, tell_unfinished
from mesh.cli.grammar import Given, argument, command, option
from mesh.cli.main import EXIT_FAILED, EXIT_OK, EXIT_USAGE, complain
from mesh.cli.output import Progress, plain, print_json, put, tell
from mesh.core.display import number_of
from mesh.core.errors import AmbiguousId, UnknownId, UsageError
from mesh.core.time_expression import span
from mesh.store.home import open_home

_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


@command("mesh capture --agent codex --since 30d")
@argument("paths", "[PATH]...", "files or folders (default: where agents keep sessions)", nargs=-1)
@option("--agent", metavar="A", default="", help="only sessions of this agent, like codex")
@option("--since", metavar="TIME", default="", help="only files written since then: 2026-11-16, 30d")
@option("--dry-run", help="read everything, keep nothing")
@option("--status", help="only say what is kept, and how it is set")
@option("--on", help="let the sidecar capture what hooks point at (the default)")
@option("--off", help="let the sidecar capture nothing")
@option("--budget", metavar="SOFT[,HARD]", default="", help="room for raw bodies, like 2G or 2G,4G (the default)")
@option("--max-age", metavar="DAYS", type=int, help="drop analysed bodies after so many days")
@option("--forget", metavar="SESSION|PATH", default="", help="take a session out for good, and never capture it again")
def main(given: Given) -> int:
    """Capture, or change how it is done."""
    home = open_home(given.home).path
    if given.forget:
        return _forget(home, given)
    if given.on or given.off or given.budget or given.max_age is not None:
        return _set(home, given)
    return _status(home, as_json=given.json) if given.status else _capture(home, given)


def _capture(home: str, given: Given) -> int:

    refuse_unknown(given.agent)
    refuse_missing(given.paths)
    since_ms = span(given.since, int(time.time() * 1000))[0] if given.since else 0
    files = list(discover(given.paths, given.agent, since_ms, os.environ))
    bar = Progress("sessions", len(files))
    began = time.monotonic()
    with Catalogue(home) as catalogue:
        catalogue.sweep()
        capture = Capture(catalogue, real_analysts(), dry_run=given.dry_run, has_crew=True)
        try:
            report = capture.run(files, bar)
            if not given.paths and not given.agent and not given.since:
                capture.renew()
        finally:
            bar.done()
        if not given.dry_run:
            report.dropped, report.lost = keep_within(catalogue, read_settings(home).budget)
    if given.json:
        print_json(report.as_json() | {"seconds": round(time.monotonic() - began, 2)})
    else:
        _print(report, time.monotonic() - began)
    return EXIT_FAILED if report.failed or report.lost else EXIT_OK


def _print(report: CaptureReport, seconds: float) -> None:
    put(f"discovered  {number_of(report.discovered, 'file')}")
    grown = f", {report.continued:,} of them had grown" if report.continued else ""
    would = "would be " if report.is_dry else ""
    put(
        f"ingested    {number_of(report.ingested, 'file')} {would}taken in: {number_of(report.sessions, 'session')}, {number_of(report.items, 'item')}{grown}"
    )
    if report.flavours:
        put(f"            {', '.join(f'{plain(name)} {count:,}' for name, count in sorted(report.flavours.items()))}")
    put(f"unchanged   {report.unchanged:,}")
    if report.copies:
        put(f"copies      {report.copies:,}: another file tells the same session, and no less of it")
    if report.forgotten:
        put(f"forgotten   {report.forgotten:,}: as you asked with --forget")
    for name, reasons in (("skipped", report.skipped), ("failed", report.failed)):
        for why, count in reasons.most_common():
            put(f"{name:<10}  {count:,}: {plain(why)}")
    for why, count in report.inside.most_common():
        put(f"inside      {count:,}: {plain(why)}")
    for path, why in report.failures:
        tell(f"failed: {plain(path)}: {plain(why)}")
    if report.dropped:
        put(f"dropped     {report.dropped:,} analysed bodies, to stay within the budget; their digests stay")
    if report.lost:
        tell(f"DATA LOSS: {report.lost:,} sessions that were never analysed had to go: the hard cap was reached")
        tell("  next: give them more room: mesh capture --budget 4G,8G")
    tell(f"{report.bytes / 1e6:,.1f} MB read in {seconds:.1f} s")


def _set(home: str, given: Given) -> int:
    if given.on and given.off:
        raise UsageError("--on and --off exclude each other", "choose one: mesh capture --off")
    before = read_settings(home)
    budget = before.budget
    if given.budget:
        soft, _, hard = given.budget.partition(",")
        soft_bytes = _size(soft)
        budget = budget._replace(soft_bytes=soft_bytes, hard_bytes=_size(hard) if hard else 2 * soft_bytes)
        if budget.hard_bytes < budget.soft_bytes:
            raise UsageError("the hard cap is below the soft one", "the larger one second: mesh capture --budget 2G,4G")
    if given.max_age is not None:
        if given.max_age < 1:
            raise UsageError("--max-age takes a number of days", "like this: mesh capture --max-age 180")
        budget = budget._replace(age_days=given.max_age)
    is_on = True if given.on else False if given.off else before.is_on
    since_ms = int(time.time() * 1000) if is_on and not before.is_on else before.since_ms
    write_settings(home, CaptureSettings(is_on, since_ms, budget))
    return _status(home, as_json=given.json)


def _status(home: str, *, as_json: bool) -> int:
    settings = read_settings(home)
    counts = None
    if has_catalogue(home):
        with Catalogue(home) as catalogue:
            counts = catalogue.counts()
    if as_json:
        print_json(
            {
                "on": settings.is_on,
                "soft_bytes": settings.budget.soft_bytes,
                "hard_bytes": settings.budget.hard_bytes,
                "age_days": settings.budget.age_days,
                "kept": counts._asdict() if counts is not None else None,
            }
        )
        return EXIT_OK
    put(
        f"capturing  {'on: the sidecar takes in what hooks point at' if settings.is_on else 'off: only by hand, with mesh capture'}"
    )
    budget = settings.budget
    put(f"budget     {_readable(budget.soft_bytes)}, at most {_readable(budget.hard_bytes)}; {budget.age_days} days")
    if counts is None:
        put("kept       nothing yet")
        return EXIT_OK
    files = ", ".join(f"{count:,} {state}" for state, count in sorted(counts.files.items()))
    put(
        f"kept       {number_of(counts.sessions, 'session')}; {counts.bodies:,} {'body' if counts.bodies == 1 else 'bodies'}, {counts.body_bytes / 1e6:,.1f} MB"
    )
    put(f"files      {files or 'none'}")
    if counts.unanalysed:
        put(f"waiting    {counts.unanalysed:,} bodies without a digest")
    if counts.lost:
        put(f"lost       {counts.lost:,} bodies that were never analysed")
    return EXIT_OK


def _forget(home: str, given: Given) -> int:
    with Catalogue(home) as catalogue:
        try:
            what = _meant(catalogue, given.forget)
        except AmbiguousId as error:
            complain(error)
            return EXIT_USAGE
        sessions, had_body = catalogue.forget(what)
    opened = open_home(home)
    left = finish_soon(opened)
    if given.json:
        print_json({"forgotten": sessions, "body": had_body})
        tell_unfinished(opened, left)
        return EXIT_OK
    if not sessions:
        put(f"{plain(what)} was not captured; it will not be")
    for session in sessions:
        put(f"{plain(session)} is forgotten: body, digest and items; it will not be captured again")
    tell("what was made of it before, if anything, is still there; to take that back: mesh retract, mesh erase")
    tell_unfinished(opened, left)
    return EXIT_OK


def _meant(catalogue: Catalogue, text: str) -> str:
    """What is to be forgotten: a path, a captured session by its name or an unmistakable part of it, or one that may come."""
    if os.path.lexists(text) or catalogue.known(os.path.abspath(text)) is not None:
        return text
    flavour, _, own = text.partition(":")
    close = catalogue.called(text)
    if len(close) > 1:
        raise AmbiguousId(f"{text} may be several sessions", close)
    if close:
        is_whole = close[0] in (text, f"{close[0].partition(':')[0]}:{text}")
        if not is_whole and len(own or text) < PREFIX_CHARS:
            raise AmbiguousId(f"{text} is too short for the beginning of a session's id", close)
        return close[0]
    if own and flavour in {*AGENTS, *(each.NAME for each in all_flavours())}:
        return text
    raise UnknownId(
        f"no session that was captured goes by {text!r}, and no file",
        "name it as records do, AGENT:ID, or by the path of its transcript; what is kept: mesh capture --status",
    )


def _readable(size: int) -> str:
    unit = "G" if size >= 1024**3 else "M"
    return f"{size / _UNITS[unit.lower()]:.4g}{unit}"


def _size(text: str) -> int:
    text = text.strip().lower().removesuffix("ib").removesuffix("b")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in ("k", "m", "g", "t") else (text, "")
    try:
        size = int(float(number) * _UNITS[unit])
    except (ValueError, OverflowError):
        size = 0
    if size < 1024**2:
        raise UsageError(f"{text[:40]!r} is not a size of at least 1M", "like this: mesh capture --budget 2G,4G")
    return size
