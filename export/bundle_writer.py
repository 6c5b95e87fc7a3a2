"""Checkpoint → bundle: the whole export, in order, into a temporary folder that is renamed into place at the end."""

from __future__ import annotations

import contextlib
import gc
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scorer.errors import BundleError, OutputError, UsageError
from scorer.inference import PRECISIONS
from scorer.inference.bundle import NLI, Bundle, Contradiction, Manifest, SmallFile, Variant, write_manifest

from . import toolchain
from .checkpoint import Checkpoint, open_checkpoint
from .families import ENCODER
from .graph import OPSET, data_file, export_fused, external_files, inputs_of
from .labels import AS_STATED, Task
from .packed import export_packed, packed_inputs
from .parity import (
    Logits,
    accept,
    check_reading,
    checkpoint_logits,
    contradicts_labels,
    mean_probabilities,
    measure_contradiction,
    measure_variant,
)
from .probes import Probe, built_in_probes, pairs_of
from .source import sha256
from .variants import HALF_SHARED, SHARED, export_variant, round_weights, share_weights

_FUSED = (
    "Attention", "MultiHeadAttention", "SkipLayerNormalization", "LayerNormalization", "BiasGelu", "Gelu",
    "MatMulInteger", "PackedMultiHeadAttention", "QuantizeLinear", "DequantizeLinear",
)  # fmt: skip


_READING = 8
"""One of so many probes is computed twice: by transformers' own model and by the exported one."""
_NOT_IN_NAMES = r"[|@/\\\s]+"
"""Characters that would break the line of a signature."""


def _to_stderr(message: str) -> None:
    print(message, file=sys.stderr, flush=True)  # noqa: T201 - the default log of a library call


def export_bundle(
    checkpoint: str | Checkpoint,
    out: Path,
    *,
    precisions: Sequence[str] = PRECISIONS,
    revision: str | None = None,
    task: Task = AS_STATED,
    half_weights: bool = False,
    templates: Path | None = None,
    name: str | None = None,
    languages: Sequence[str] | None = None,
    force: bool = False,
    log: Callable[[str], None] = _to_stderr,
) -> Path:
    """Export a checkpoint as a bundle, and return the bundle's folder.

    Args:
        checkpoint: a hub id, a local folder, or an open checkpoint.
        out: must not exist, or be empty.
        task: the user's statements about the checkpoint's logits and pairs.
        half_weights: round the weights to half precision and store them once, for all variants
            (:func:`.share_weights`).
        templates: a template file to ship.
        languages: codes (ISO 639-1) of the languages that the model reads; ``None``: the languages of its card.
        force: include a variant that keeps fewer than 99% of the probes' labels, and a checkpoint that contradicts its
            labels.

    Raises:
        UsageError: an option that cannot be honoured.
        CheckpointError: the checkpoint is refused, or does not become the graph that it should.
        BundleError: without ``force``, a variant is under 99 % label agreement, or the checkpoint's answers to plain
            pairs contradict its labels.
        OutputError: ``out`` is in use or cannot be written.
        MissingDependencyError: the extra ``export`` or an ONNX Runtime is not installed.
    """
    out, ordered_precisions = Path(out), _check_options(precisions, templates, name, languages, log)
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise OutputError(f"{out} exists and is not an empty folder; choose a new folder for the bundle")
    toolchain.require()
    with toolchain.quiet():
        opened = checkpoint
        if not isinstance(opened, Checkpoint):
            opened = open_checkpoint(opened, revision, task, log)
        log(
            f"{opened.source.checkpoint}: {opened.architecture['layers']} layers, "
            f"{opened.architecture['parameters'] / 1e6:.1f} million parameters, scheme {opened.scheme.kind}, labels "
            f"{', '.join(opened.scheme.labels)}, pairs of up to {opened.max_length} tokens"
        )
        probes = built_in_probes(opened.tokenizer, opened.max_length)
        opened.tokenizer.check_pair_encoding((probe.premise, probe.hypothesis) for probe in probes)
        with _staging(out) as folder:
            codes = opened.languages if languages is None else tuple(languages)
            log(f"languages: {', '.join(codes) or 'not known'}")
            _fill(folder, opened, probes, ordered_precisions, half_weights, templates, name, codes, force, log)
            Bundle.load(folder)  # the scorer must accept the bundle
            _rename(folder, out)
    log(f"bundle written to {out}")
    return out


def _fill(
    folder: Path,
    opened: Checkpoint,
    probes: list[Probe],
    precisions: list[str],
    half_weights: bool,
    templates: Path | None,
    name: str | None,
    languages: tuple[str, ...],
    force: bool,
    log: Callable[[str], None],
) -> None:
    """Write the files of a bundle."""
    model, expected = _load_and_predict(opened, probes, log)
    forced = [] if opened.source.random_init else _check_labels(model, opened, force, log)
    contradiction = _contradiction(model, opened, log)
    if half_weights:
        round_weights(model)
    log("exporting to ONNX and fusing")
    export_fused(model, opened.family, opened.architecture, opened.tokenizer.layout.segments, folder / "fused.onnx")
    del model
    gc.collect()
    counts = _write_graphs(folder, opened, precisions, half_weights, log)
    variants: dict[str, Variant] = {}
    for key, operators in counts.items():
        path, packed, precision = folder / f"model.{key}.onnx", key.endswith(".packed"), key.partition(".")[0]
        log(f"verifying {key} against PyTorch")
        try:
            parity = measure_variant(path, precision, opened.tokenizer, probes, expected, opened.scheme, packed=packed)
        except BundleError as e:
            if not packed:
                raise
            # Which packed forms run is found out on each device, so one that does not run here ends no export.
            reason = str(e).rpartition("; ")[0]  # without the advice to leave the precision out
            log(f"{key}: {reason}; the scorer tries it on the device at first use")
            parity = None
        else:
            log(_say(key, parity))
        forced += _refuse(accept(key, parity), force, log)
        variants[key] = _variant(path, precision, operators, parity, opened, packed)
    files = _write_small_files(folder, opened, probes, expected, templates)
    manifest = Manifest(
        name=name or re.sub(_NOT_IN_NAMES, "-", opened.name) or "checkpoint",
        source=opened.source,
        forced=tuple(forced),
        architecture=dict(opened.architecture),
        scheme=opened.scheme,
        pair_layout=opened.tokenizer.layout,
        max_length=opened.max_length,
        contradiction=contradiction,
        languages=languages,
        files=files,
        variants=variants,
        versions=toolchain.versions(),
    )
    # Last, because a folder without it is not a bundle.
    write_manifest(folder, manifest)


def _load_and_predict(opened: Checkpoint, probes: list[Probe], log: Callable[[str], None]) -> tuple[Any, Logits]:
    """The model, and the logits of the probes by transformers' own loading of the checkpoint, which must agree."""
    log(f"running {len(probes)} probe pairs, {sum(p.tokens for p in probes)} tokens, in PyTorch")
    reference = opened.load_reference()
    if reference is None:
        model = opened.load()
        if not opened.source.random_init:
            log("transformers itself does not load this checkpoint; compared with the model read from its config.json")
        return model, checkpoint_logits(model, opened.tokenizer, probes)
    expected = checkpoint_logits(reference, opened.tokenizer, probes)
    del reference
    gc.collect()
    model = opened.load()
    check_reading(checkpoint_logits(model, opened.tokenizer, probes[::_READING]), expected[::_READING])
    return model, expected


def _check_labels(model: Any, opened: Checkpoint, force: bool, log: Callable[[str], None]) -> list[str]:
    """Compare the answers to plain pairs with the labels; why they were refused, if ``force`` keeps them."""
    plain = pairs_of("fact" if opened.tokenizer.layout.one_text else "plain")
    log(f"asking {len(plain)} plain pairs")
    refusal = contradicts_labels(mean_probabilities(model, opened.tokenizer, opened.scheme, plain), opened.scheme)
    return _refuse(refusal, force, log)


def _contradiction(model: Any, opened: Checkpoint, log: Callable[[str], None]) -> Contradiction | None:
    """The threshold of :func:`measure_contradiction`; ``None`` for random weights and fewer labels."""
    if opened.scheme.kind != NLI or opened.source.random_init:
        return None
    contradiction = measure_contradiction(model, opened.tokenizer, opened.scheme, opened.max_length)
    if contradiction is None:
        log("contradicted: no threshold tells wrong values from facts left out")
        return None
    wrong, left_out = contradiction.wrong_value_rate, contradiction.left_out_rate
    log(
        f"contradicted: from P(contradiction) {contradiction.threshold:g} on, {wrong:.0%} of the wrong values and "
        f"{left_out:.0%} of the facts left out in the challenge set; on other data the shares differ"
    )
    return contradiction


def _write_graphs(
    folder: Path, opened: Checkpoint, precisions: list[str], half_weights: bool, log: Callable[[str], None]
) -> dict[str, dict[str, int]]:
    """Write the graphs of all variants and their weights, from ``fused.onnx``, which is removed; operator counts by the
    variant's name."""
    fused, fp32 = folder / "fused.onnx", folder / "model.fp32.onnx"
    layers, segments = opened.architecture["layers"], opened.tokenizer.layout.segments
    counts = {}
    for precision in ["fp32", *(precision for precision in precisions if precision != "fp32")]:
        log(f"making {precision}")
        source, out = fp32 if precision == "int8" else fused, folder / f"model.{precision}.onnx"
        counts[precision] = export_variant(opened.family, precision, source, out, layers=layers)
        gc.collect()
    forms = ["fp16.packed"] if "fp16" in precisions and opened.family.form == ENCODER else []
    for key in forms:
        log(f"making {key}")
        first = opened.family.first_position(opened.model_config)
        counts[key] = export_packed(
            fused, folder / f"model.{key}.onnx", layers, first_position=first, segments=segments
        )
        gc.collect()
    for path in (fused, *([] if "fp32" in precisions else [fp32])):
        path.unlink(missing_ok=True)
        data_file(path).unlink(missing_ok=True)
    keys = [*precisions, *forms]
    if half_weights:
        log("storing the weights once")
        share_weights([folder / f"model.{key}.onnx" for key in keys], folder / SHARED)
    elif forms:
        share_weights([folder / f"model.{key}.onnx" for key in ("fp16", *forms)], folder / HALF_SHARED)
    return {key: counts[key] for key in keys}


def _refuse(reason: str | None, force: bool, log: Callable[[str], None]) -> list[str]:
    """End the export for a reason, or with ``force`` say it and return it."""
    if reason is None:
        return []
    if not force:
        raise BundleError(f"{reason}; to keep it nevertheless, export with --force")
    log(f"warning: {reason}; kept because of --force")
    return [reason]


def _variant(
    path: Path, precision: str, counts: dict[str, int], parity: dict[str, Any] | None, opened: Checkpoint, packed: bool
) -> Variant:
    """A variant as ``bundle.json`` has it."""
    segments = opened.tokenizer.layout.segments
    return Variant(
        file=path.name,
        precision=precision,  # type: ignore[arg-type]  # checked by _check_options
        layout="packed" if packed else "padded",
        sha256=sha256(path),
        bytes=path.stat().st_size,
        external={name: sha256(path.parent / name) for name in external_files(path)},
        opset=OPSET,
        inputs=tuple(packed_inputs(segments) if packed else inputs_of(segments)),
        fused={operator: counts[operator] for operator in _FUSED if operator in counts},
        parity=parity,
    )


def _write_small_files(
    folder: Path, opened: Checkpoint, probes: list[Probe], expected: Logits, templates: Path | None
) -> dict[SmallFile, str]:
    """Write the files of a bundle without its graphs; return their hashes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "tokenizer.json").write_text(opened.tokenizer.text, encoding="utf-8")
    table = pa.table(
        {
            "premise": pa.array([probe.premise for probe in probes], pa.string()),
            "hypothesis": pa.array([probe.hypothesis for probe in probes], pa.string()),
            "tokens": pa.array([probe.tokens for probe in probes], pa.int32()),
            "logits": pa.FixedSizeListArray.from_arrays(pa.array(expected.ravel(), pa.float32()), expected.shape[1]),
        }
    )
    pq.write_table(table, folder / "probes.parquet", compression="zstd")
    small: list[SmallFile] = ["tokenizer.json", "probes.parquet"]
    if templates is not None:
        shutil.copyfile(templates, folder / "templates.json")
        small.append("templates.json")
    return {file: sha256(folder / file) for file in small}


def _say(precision: str, parity: dict[str, Any] | None) -> str:
    if parity is None:
        return (
            f"{precision}: not verified here (no CUDA that starts); the scorer verifies it on the device at first use"
        )
    return (
        f"{precision}: label agreement {parity['label_agreement']:.2%} of {parity['pairs']} pairs, largest difference "
        f"of a logit {parity['max_abs_logit']:.3g}, of a probability {parity['max_abs_probability']:.3g}, "
        f"{parity['within_margin']:.1%} of pairs within the margin"
    )


def _check_options(
    precisions: Sequence[str],
    templates: Path | None,
    name: str | None,
    languages: Sequence[str] | None,
    log: Callable[[str], None],
) -> list[str]:
    unknown = [precision for precision in precisions if precision not in PRECISIONS]
    if unknown or not precisions:
        raise UsageError(f"--precision is {','.join(precisions)!r}; choose from {','.join(PRECISIONS)}")
    if name is not None and (not name or re.search(_NOT_IN_NAMES, name)):
        raise UsageError(f"--name is {name!r}; it stands in signatures, so it may not hold blanks or | @ / \\")
    wrong = [code for code in languages or () if not re.fullmatch("[a-z]{2}", code)]
    if wrong:
        raise UsageError(f"--languages has {wrong[0]!r}; give codes of ISO 639-1, for instance --languages en,de")
    if templates is not None:
        from scorer.metric.fact_templates import Templates

        Templates.load(templates, log)
    return [precision for precision in PRECISIONS if precision in precisions]


@contextlib.contextmanager
def _staging(out: Path) -> Iterator[Path]:
    """A temporary folder next to ``out``; it is removed at the end with its content."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as e:
        raise OutputError(f"{out.parent} cannot be written ({e.strerror}); choose another folder") from e
    try:
        yield folder
    except OSError as e:  # most likely a full disk; the files that are read were checked before
        raise OutputError(
            f"writing the bundle for {out} failed ({e.strerror or e}); free space or choose another folder"
        ) from e
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rename(folder: Path, out: Path) -> None:
    """Give a finished bundle its place."""
    try:
        folder.chmod(0o755)  # temporary folders are private; a bundle is to be read
        if out.exists():
            out.rmdir()
        folder.rename(out)
    except OSError as e:
        raise OutputError(f"the bundle cannot be moved to {out} ({e.strerror}); choose another folder") from e
