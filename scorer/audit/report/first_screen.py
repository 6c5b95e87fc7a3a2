"""The first screen: did it pass, what changed, where to look, under which bundle and templates."""

from __future__ import annotations

import re

from ..document import RATES, Callout, Document, RateChange
from ..gates import why_nothing
from . import numbers
from .labels import MEASURES, all_rows, difference, group_inline, tag
from .limits import Limits, clip, first
from .markup import Child, Html, element, join

_TITLES = {"pass": "Passed", "warn": "Passed with warnings", "fail": "Failed"}
# The picture beside the word, drawn in a square of 24.
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
_SEEN = 4  # callouts in sight


def title(document: Document) -> tuple[str, str]:
    """(class, words) of the verdict. Where no gate spoke nothing was judged, which is not the same as passing."""
    if document["checked"]["nothing_checked"]:
        return "fail" if document["status"] == "fail" else "warn", "Nothing checked"
    return document["status"][:40], _TITLES.get(document["status"], document["status"][:40])


def header(document: Document, limits: Limits, sections: frozenset[str]) -> Html:
    """The top of the page. ``sections``: ids that exist, to link to."""
    kind, words = title(document)
    glyph = element(
        "svg",
        element("circle", cx=12, cy=12, r=11, fill="none", stroke="currentColor", stroke_width=2),
        element(
            "path",
            d=_GLYPHS.get(kind, _GLYPHS["silent"]),
            fill="none",
            stroke="currentColor",
            stroke_width=2.4,
            stroke_linecap="round",
            stroke_linejoin="round",
        ),
        viewBox="0 0 24 24",
        aria_hidden="true",
    )
    return element(
        "header",
        element(
            "div",
            element(
                "p",
                "Audit of ",
                element("b", clip(document["out"], limits.name)),
                f", run finished {_moment(document['finished'])}",
                class_="eyebrow",
            ),
            _partial(document, limits),
            element("h1", glyph, element("span", words)),
            element("p", _lede(document), class_="lede"),
            _figures(document),
            element(
                "div",
                element(
                    "section",
                    element("h2", "What changed", id="what"),
                    _what_changed(document, limits),
                    aria_labelledby="what",
                ),
                element(
                    "section",
                    element("h2", "Where to look", id="where"),
                    _where(document, limits, sections),
                    aria_labelledby="where",
                ),
                element(
                    "section",
                    element("h2", "Scored under", id="under"),
                    _under(document, limits),
                    aria_labelledby="under",
                ),
                class_="first",
            ),
            class_="page",
        ),
        class_=f"top {kind}",
    )


def _partial(document: Document, limits: Limits) -> Html | None:
    """What of the inputs is not in these figures, before anything that is said of them."""
    lines = [
        join(tag("partial"), f" {of}: ", clip(reason, limits.text), ".")
        for of, reason in (
            ("This output", document["partial"]),
            ("The baseline", document["baseline"]["partial"] if document["baseline"] else None),
        )
        if reason is not None
    ]
    return element("div", join(element("p", line) for line in lines), class_="partial") if lines else None


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


def _figures(document: Document) -> Html | None:
    whole = all_rows(document)
    if whole is None:
        return None
    rows = document["rows"]
    items = [_figure("Rows", numbers.count(rows["in"]), [f"{numbers.count(rows['reused'])} reused"])]
    for name in RATES:
        rate = whole["rates"].get(name)
        if rate is None:
            continue
        beside: list[Child] = [numbers.span(rate["low"], rate["high"])]
        change = whole["change"]["rates"].get(name) if whole["change"] else None
        if change is not None:
            beside.append(_since(change))
        items.append(_figure(MEASURES[name], numbers.percent(rate["value"]), beside))
    return element("dl", *items, class_="figures")


def _since(change: RateChange) -> Html:
    """``baseline 5.4 %``, coloured where the difference is significant."""
    value = change["difference"] or 0.0
    kind = ("up" if value > 0 else "down") if change["significant"] else None
    return element("span", f"baseline {numbers.percent(change['before']['value'])}", class_=kind)


def _figure(name: str, value: str, beside: list[Child]) -> Html:
    lines = [element("span", line, class_="beside") for line in beside if line]
    return element("div", element("dt", name), element("dd", element("span", value, class_="value"), *lines))


def _what_changed(document: Document, limits: Limits) -> Html:
    baseline, changes = document["baseline"], document["baseline_changes"]
    if baseline is None or changes is None:
        return element("p", "No baseline was given, so there is nothing to compare with.", class_="quiet")
    flips = changes["flips"]
    lines: list[Child] = [
        join(
            f"{numbers.plural(changes['added'], 'row')} added, {numbers.count(changes['removed'])} removed, "
            f"{numbers.count(changes['kept'])} kept."
        )
    ]
    if not baseline["same_signature"]:
        lines.append("The two nights were scored under different signatures: differences may be the scorer's.")
    if flips["count"]:
        beyond = flips["beyond_bound"]
        more = "" if beyond is None else f", {numbers.count(beyond)} of them beyond the bound"
        lines.append(f"{numbers.plural(flips['count'], 'kept row')} changed the label{more}.")
    else:
        lines.append("No kept row changed its label.")
    moved = [
        (figures, name, change)
        for figures in document["groups"]
        if figures["change"]
        for name, change in figures["change"]["rates"].items()
        if change["significant"]
    ]
    # The whole first, then the largest differences: what a reader should know before the details.
    moved.sort(key=lambda found: (bool(found[0]["group"]), -abs(found[2]["difference"] or 0.0)))
    kept, rest = first(moved, 4)
    for figures, name, change in kept:
        where = join(" in ", group_inline(figures["group"], limits)) if figures["group"] else None
        lines.append(join(MEASURES.get(name, name), where, ": ", difference(change)))
    if rest:
        lines.append(element("a", f"{numbers.plural(rest, 'more significant change')}", href="#changes"))
    if not moved:
        lines.append("No rate changed significantly.")
    return element("ul", join(element("li", line) for line in lines))


def _where(document: Document, limits: Limits, sections: frozenset[str]) -> Html:
    """The callouts, the gravest first: some in sight, the others behind a click."""
    callouts, rest = first(document["callouts"], limits.few * 3)
    if not callouts:
        return element("p", "Nothing stands out: nothing was called out.", class_="quiet")
    items = [_callout(callout, limits, sections) for callout in callouts]
    if rest:
        items.append(element("li", f"{numbers.count(rest)} more are not shown", class_="quiet"))
    seen = [element("ol", *items[:_SEEN])]
    if len(items) > _SEEN:
        more = element("summary", f"{numbers.count(len(callouts) + rest - _SEEN)} more")
        seen.append(element("details", more, element("ol", *items[_SEEN:])))
    return join(*seen)


def _callout(callout: Callout, limits: Limits, sections: frozenset[str]) -> Html:
    place = _PLACES.get(callout["kind"])
    message = clip(callout["message"], limits.text)
    severity = {"fail": "fail", "warn": "warn"}.get(callout["severity"])
    # What a test found stands in its section; here is room for what a reader acts on.
    lines, _ = first(callout["evidence"], 0 if callout["kind"] in _TESTED else 3)
    return element(
        "li",
        tag(severity) if severity else None,
        element("a", message, href=f"#{place}") if place in sections else message,
        join(element("span", clip(line, limits.name), class_="evidence") for line in lines),
    )


def _under(document: Document, limits: Limits) -> Html:
    templates = document["templates"]
    versions, _ = first(list(document["versions"].items()), limits.few)
    baseline = document["baseline"]
    counted = "count as not OK" if document["options"]["errors"] == "not-ok" else "are left out of the rates"
    pairs: list[tuple[str, Child]] = [
        ("Bundle", join(clip(document["bundle"]["name"], limits.name), " ", _code(document["bundle"]["sha"], limits))),
        (
            "Templates",
            "none: every fact by the backoff template"
            if templates["sha"] == "none"
            else join(
                clip(templates["file"], limits.name) if templates["file"] else None,
                " ",
                _code(templates["sha"], limits),
            ),
        ),
        ("Device", clip(document["device"], limits.name)),
        ("Error rows", counted),
        ("Baseline", clip(baseline["out"], limits.name) if baseline else "none"),
        ("Versions", clip(", ".join(f"{name} {version}" for name, version in versions), limits.name)),
        ("Signature", element("code", _signature(document["signature"][: limits.text]))),
    ]
    return element("dl", join(join(element("dt", name), element("dd", value)) for name, value in pairs), class_="pairs")


def _code(value: str, limits: Limits) -> Html:
    return element("code", clip(value, limits.text))


def _signature(signature: str) -> Html:
    """A signature that breaks between its parts."""
    return join(*(join(part, element("wbr")) for part in re.split(r"(?<=\|)", signature)))
