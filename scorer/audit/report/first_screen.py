"""The first screen: did it pass, what changed, where to look, with which bundle and templates."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..document import RATES, Callout, Document, RateChange
from ..gates import why_nothing
from . import numbers
from .labels import MEASURES, all_rows, difference, group_inline, tag
from .limits import Limits, clip, first
from .views import Code, Line, Link, Shown, Styled, Tag, Text
from .worse import said

_TITLES = {"pass": "Passed", "warn": "Passed with warnings", "fail": "Failed"}
# The picture next to the word, drawn in a square of 24 units.
_GLYPHS = {
    "pass": "M5 12.5l4.5 4.5L19 7.5",
    "warn": "M12 6v7.5M12 17.2v.6",
    "fail": "M7 7l10 10M17 7L7 17",
    "silent": "M7 12h10",
}
_PLACES = {
    "gate": "gates",
    "flips": "changes",
    "regression": "changes",
    "improvement": "changes",
    "drift": "confidence",
    "template": "predicates",
    "errors": "errors",
}
_TESTED = frozenset({"regression", "improvement", "drift"})
_SEEN = 4  # callouts shown at once


@dataclass(frozen=True)
class Tile:
    """A figure with its name, and further lines below it."""

    name: str
    value: str
    notes: tuple[Shown, ...]


@dataclass(frozen=True)
class CalloutShown:
    """A callout: its message, linked to its section, and its evidence."""

    severity: Tag | None
    message: Text | Link
    evidence: tuple[Text, ...]


@dataclass(frozen=True)
class Callouts:
    """Those shown at once and those behind a click. ``left_out``: how many are not in the page."""

    seen: tuple[CalloutShown, ...]
    behind: tuple[CalloutShown, ...]
    left_out: int
    more: int
    """How many are not shown at once."""


@dataclass(frozen=True)
class Header:
    """The top of the page. ``style``: class of the verdict. ``changed``: ``None`` without a baseline."""

    style: str
    words: str
    glyph: str
    out: Text
    finished: str
    partial: tuple[tuple[str, Text], ...]
    lede: str
    tiles: tuple[Tile, ...]
    changed: tuple[Line, ...] | None
    callouts: Callouts
    under: tuple[tuple[str, Line], ...]
    signature: tuple[str, ...]


def title(document: Document) -> tuple[str, str]:
    """(class, words) of the verdict. If every gate was silent, nothing was checked, which is not a pass."""
    if document["checked"]["nothing_checked"]:
        return "fail" if document["status"] == "fail" else "warn", "Nothing checked"
    return document["status"][:40], _TITLES.get(document["status"], document["status"][:40])


def header(document: Document, limits: Limits, sections: frozenset[str]) -> Header:
    """The top of the page. ``sections``: ids that exist, to link to."""
    style, words = title(document)
    signature = document["signature"][: limits.text]
    return Header(
        style=style,
        words=words,
        glyph=_GLYPHS.get(style, _GLYPHS["silent"]),
        out=clip(document["out"], limits.name),
        finished=_moment(document["finished"]),
        partial=_partial(document, limits),
        lede=_lede(document),
        tiles=_tiles(document),
        changed=_what_changed(document, limits),
        callouts=_callouts(document, limits, sections),
        under=_under(document, limits),
        signature=tuple(re.split(r"(?<=\|)", signature)),
    )


def _partial(document: Document, limits: Limits) -> tuple[tuple[str, Text], ...]:
    """Which part of the inputs these figures leave out; shown before any figure."""
    return tuple(
        (of, clip(reason, limits.text))
        for of, reason in (
            ("This output", document["partial"]),
            ("The baseline", document["baseline"]["partial"] if document["baseline"] else None),
        )
        if reason is not None
    )


def _moment(stamp: str) -> str:
    """``2026-11-21T03:12:44Z`` as ``2026-11-21 03:12 UTC``; anything else as it is."""
    if len(stamp) >= 17 and stamp[10] == "T" and stamp.endswith(("Z", "+00:00")):
        return f"{stamp[:10]} {stamp[11:16]} UTC"
    return stamp[:40]


def _lede(document: Document) -> str:
    """One or two sentences: the gates, and how many rows are not OK."""
    by_status = [gate["status"] for gate in document["gates"]]
    parts = []
    if document["checked"]["nothing_checked"]:
        parts.append(why_nothing(document["checked"]))
    else:
        said = [
            f"{numbers.count(by_status.count(status))} {word}"
            for status, word in (
                ("fail", "failed"),
                ("warn", "warned"),
                ("pass", "passed"),
                ("silent", "stayed silent"),
            )
            if status in by_status
        ]
        listed = " and ".join(filter(None, [", ".join(said[:-1]), *said[-1:]]))
        parts.append(f"Of {numbers.plural(len(by_status), 'gate')}, {listed}.")
    whole = all_rows(document)
    rate = whole["rates"].get("not_ok_rate") if whole else None
    if whole and rate and rate["value"] is not None:
        parts.append(f"{numbers.percent(rate['value'])} of {numbers.plural(rate['n'], 'row')} are not OK.")
    return " ".join(parts)


def _tiles(document: Document) -> tuple[Tile, ...]:
    whole = all_rows(document)
    if whole is None:
        return ()
    rows = document["rows"]
    tiles = [Tile("Rows", numbers.count(rows["in"]), (f"{numbers.count(rows['reused'])} reused",))]
    for name in RATES:
        rate = whole["rates"].get(name)
        if rate is None or (rate["value"] is None and name == "unsupported_numbers_rate"):  # the run did not look
            continue
        interval = numbers.span(rate["low"], rate["high"])
        notes: list[Shown] = [interval] if interval else []
        change = whole["change"]["rates"].get(name) if whole["change"] else None
        if change is not None:
            notes.append(_since(change))
        tiles.append(Tile(MEASURES[name], numbers.percent(rate["value"]), tuple(notes)))
    return tuple(tiles)


def _since(change: RateChange) -> Styled:
    """``baseline 5.4%``, coloured where the difference is significant."""
    value = change["difference"] or 0.0
    style = ("up" if value > 0 else "down") if change["significant"] else None
    return Styled(f"baseline {numbers.percent(change['before']['value'])}", style)


def _what_changed(document: Document, limits: Limits) -> tuple[Line, ...] | None:
    baseline, changes = document["baseline"], document["baseline_changes"]
    if baseline is None or changes is None:
        return None
    flips, worse = changes["flips"], said(document)
    lines: list[Line] = [
        *([(Link("worse", worse),)] if worse is not None else []),
        (
            f"{numbers.plural(changes['added'], 'row')} added, {numbers.count(changes['removed'])} removed, "
            f"{numbers.count(changes['kept'])} kept.",
        ),
    ]
    if not baseline["same_signature"]:
        lines.append(("The two outputs were scored under different signatures; differences may come from the scorer.",))
    if flips["count"]:
        beyond = flips["beyond_bound"]
        more = "" if beyond is None else f", {numbers.count(beyond)} of them beyond the bound"
        lines.append((f"{numbers.plural(flips['count'], 'kept row')} changed label{more}.",))
    else:
        lines.append(("No kept row changed its label.",))
    moved = [
        (figures, name, change)
        for figures in document["groups"]
        if figures["change"]
        for name, change in figures["change"]["rates"].items()
        if change["significant"]
    ]
    # All rows first, then groups; the largest differences first within each.
    moved.sort(key=lambda found: (bool(found[0]["group"]), -abs(found[2]["difference"] or 0.0)))
    kept, rest = first(moved, 4)
    for figures, name, change in kept:
        where: Line = (" in ", group_inline(figures["group"], limits)) if figures["group"] else ()
        lines.append((MEASURES.get(name, name), *where, ": ", difference(change)))
    if rest:
        lines.append((Link("changes", numbers.plural(rest, "more significant change")),))
    if not moved:
        lines.append(("No rate changed significantly.",))
    return tuple(lines)


def _callouts(document: Document, limits: Limits, sections: frozenset[str]) -> Callouts:
    """The most severe first: some shown at once, the others behind a click."""
    callouts, rest = first(document["callouts"], limits.few * 3)
    shown = tuple(_callout(callout, limits, sections) for callout in callouts)
    return Callouts(shown[:_SEEN], shown[_SEEN:], rest, len(callouts) + rest - _SEEN)


def _callout(callout: Callout, limits: Limits, sections: frozenset[str]) -> CalloutShown:
    place = _PLACES.get(callout["kind"])
    message = clip(callout["message"], limits.text)
    severity = {"fail": "fail", "warn": "warn"}.get(callout["severity"])
    # Evidence of tests is shown in their section; here is room only for what a reader acts on.
    lines, _ = first(callout["evidence"], 0 if callout["kind"] in _TESTED else 3)
    return CalloutShown(
        tag(severity) if severity else None,
        Link(place, message) if place in sections else message,
        tuple(clip(line, limits.name) for line in lines),
    )


def _under(document: Document, limits: Limits) -> tuple[tuple[str, Line], ...]:
    """What the output was scored with, except the signature."""
    bundle, templates, baseline = document["bundle"], document["templates"], document["baseline"]
    versions, _ = first(list(document["versions"].items()), limits.few)
    file: Line = (clip(templates["file"], limits.name),) if templates["file"] else ()
    return (
        ("Bundle", (clip(bundle["name"], limits.name), " ", Code(clip(bundle["sha"], limits.text)))),
        (
            "Templates",
            ("none: every fact uses the backoff template",)
            if templates["sha"] == "none"
            else (*file, " ", Code(clip(templates["sha"], limits.text))),
        ),
        ("Device", (clip(document["device"], limits.name),)),
        (
            "Error rows",
            ("count as not OK" if document["options"]["errors"] == "not-ok" else "are left out of the rates",),
        ),
        ("Baseline", (clip(baseline["out"], limits.name) if baseline else "none",)),
        ("Versions", (clip(", ".join(f"{name} {version}" for name, version in versions), limits.name),)),
    )
