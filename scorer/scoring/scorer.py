"""The Python interface: a scorer that is opened once and used many times."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, NoReturn, Self, Unpack, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import ColumnError, UsageError
from ..inference.batching import EncodedPairs
from ..inference.engine import Predictions
from ..metric.facts import Rows, is_utf8
from ..metric.inputs import InputColumns, find_columns
from ..status import SCORED
from ..storage.run_plan import Budgets
from ..system.arguments import check_names, described, shows_fields, strings
from ..system.waiting import Closing
from .opening import OpenScorer
from .pipeline import Judged, ScoredWindow, Window
from .results import Verdict, verdicts_of
from .settings import ScorerOptions, Settings
from .tables import (
    ArrowStream,
    RowT,
    TableT,
    TripleLike,
    as_table,
    from_attribute_pairs,
    from_fact_pairs,
    from_pairs,
    has_nothing,
    read_table,
)

_OPTION = re.compile(r"--(?:(keep|prefix)|([a-z]+)-column)\b")


def of_python(error: ColumnError) -> ColumnError:
    """An error whose message names the fields of :class:`.ColumnNames` in place of the options of a command."""
    return type(error)(_OPTION.sub(lambda option: f"ColumnNames({option[1] or option[2]}=...)", str(error)))


class Scorer(OpenScorer, Closing):
    """Scores data-to-text rows with an NLI model (Dušek & Kasner, INLG 2020).

    Args:
        bundle: a folder that ``scorer export`` wrote, or ``"embedded"``.
        device: ``auto`` (CUDA if it starts, otherwise the CPU), ``cpu``, ``cuda`` or ``cuda:N``.
        precision: ``auto`` (fp16 on CUDA, int8 on the CPU), ``fp32``, ``fp16`` or ``int8``.
        device_memory: GPU memory of the session, in GiB; 0 for no limit.
        templates: a template file, its parsed content, or ``None`` for the bundle's own (otherwise backoff).
        protocol: ``paper``, ``nlgi_eval`` (the paper's released code) or ``factspotter``.
        checks: ``both`` sides, or only ``hallucination`` or ``omission``.
        optional: facts that a text may omit, as ``predicate=object``; added to those of the template file.
        missing_template: ``backoff``, or ``error`` for a triple without a template.
        reading: ``verbatim``, or ``plain``: facts and texts in one notation, without mark-up.
        sentences: also check every sentence of a text.
        exact: recompute undecided pairs in fp32, to get the labels of fp32.
        overlong: ``error`` or ``truncate`` for pairs longer than the model accepts.
        columns: names of input and output columns (:class:`scorer.ColumnNames`).
        threads: threads of the CPU; ``None`` for one on each processor that this process may use, or as many as a quota
            of its container allows. The number in ``budgets`` takes precedence.
        budgets: :attr:`budgets` of an earlier scorer; those that are ``None`` are chosen or measured.
        log: called with each remark for the user.

    ``Scorer(**settings.arguments())`` opens one from :class:`.Settings`. It belongs to the process that created it: it
    refuses to score after a fork, and cannot be pickled.

    Attributes:
        engine: the model on its device.
        pipeline: the stages from rows to labels.
        full_signature: the signature of the scores.
        settings: the settings of the scorer.

    Raises:
        ScorerError: see :mod:`scorer.errors`; each message says what, where, and how to fix it.
        TypeError: a setting has the wrong type.
    """

    @shows_fields(Settings)
    def __init__(
        self,
        bundle: str | Path,
        *,
        budgets: Budgets | None = None,
        log: Callable[[str], None] = lambda message: None,
        **settings: Unpack[ScorerOptions],
    ) -> None:
        self._process, self._closed = os.getpid(), False
        check_names(settings, [*ScorerOptions.__annotations__, "budgets", "log"], "Scorer")
        super().__init__(Settings(bundle=bundle, **settings), budgets, log)

    def close(self) -> None:
        """Stop the threads that compute, and cancel the computation under way. In a forked process it does nothing: the
        threads belong to the process that opened the scorer."""
        self._closed = True
        if os.getpid() == self._process:
            self.engine.close()

    def __repr__(self) -> str:
        """The model, how it runs, and the protocol, in one line."""
        engine, protocol = self.engine, self.settings.protocol
        closed = ", closed" if self._closed else ""
        return f"<Scorer {engine.bundle.name}, {engine.precision} on {engine.device}, protocol {protocol}{closed}>"

    def _repr_html_(self) -> str:
        """The same for notebooks, with the signature."""
        return f"<p><b>{html.escape(repr(self)[1:-1])}</b></p><p><code>{html.escape(self.signature)}</code></p>"

    def __reduce__(self) -> NoReturn:
        """Threads and sessions cannot be sent to another process: a :class:`.UsageError`."""
        raise UsageError(
            "a Scorer cannot be pickled; make one in each process, for example Scorer(**settings.arguments()), where "
            "settings, the .settings of this one, can be pickled"
        )

    def _check_usable(self) -> None:
        """Refuse a scorer that would hang or fail in the runtime.

        Raises:
            UsageError: it is closed, or another process opened it.
        """
        if self._closed:
            raise UsageError("this Scorer is closed; make another one, or use it inside its `with` block")
        if os.getpid() != self._process:
            raise UsageError(
                f"this Scorer was opened in process {self._process} and is used in process {os.getpid()}, after a "
                "fork, where its threads do not exist; make one in each process"
            )

    @property
    def signature(self) -> str:
        """Signature of the scores in one line; scores compare only under equal signatures."""
        return self.full_signature.line

    @classmethod
    @shows_fields(Settings)
    def embedded(cls, **options: Unpack[ScorerOptions]) -> Self:
        """A scorer with the general model that ships: small, for a first look at data of any domain."""
        return cls("embedded", **options)

    def score(self, triples: Iterable[TripleLike], text: str | None) -> Verdict:
        """Score one row.

        Args:
            triples: each a :class:`Triple`, a tuple or list of three strings, a dictionary with the keys ``subject``,
                ``predicate`` and ``object`` in any case, or a string ``subject | predicate | object``.
            text: ``None`` gives the error ``null_text``, as in a table.

        Raises:
            TypeError: a triple of another form, named with its position, or a text that is not a string.
        """
        return self.score_row(from_pairs([(triples, text)]))

    def score_facts(self, facts: Iterable[str], text: str | None) -> Verdict:
        """Score one row whose facts are sentences, which need no template.

        Args:
            facts: a sentence each; a blank one gives the error ``malformed_triples``, none ``no_triples``.
            text: ``None`` gives the error ``null_text``, as in a table.

        Raises:
            TypeError: facts that are not a list of strings, or a text that is not a string.
        """
        return self.score_row(from_fact_pairs([(facts, text)]))

    def score_attributes(self, attributes: Mapping[str, Any], text: str | None) -> Verdict:
        """Score one row whose facts are the attributes of a subject, which the key ``name`` names.

        Args:
            attributes: values, lists and objects; without a subject the row has an error, as in a table.
            text: ``None`` gives the error ``null_text``, as in a table.

        Raises:
            TypeError: attributes that are not a dictionary, or a text that is not a string.
        """
        return self.score_row(from_attribute_pairs([(attributes, text)]))

    def score_row(self, rows: Rows) -> Verdict:
        """Score the first of parsed rows, its selection included."""
        if not len(rows):
            raise UsageError("rows is empty; give at least one row")
        return self._verdicts(rows)[0]

    def _verdicts(self, rows: Rows) -> list[Verdict]:
        self._check_usable()
        judged = self._judge(rows)
        return verdicts_of(judged, self.engine.bundle.max_length, self.settings.columns)

    def _judge(self, rows: Rows) -> Judged:
        """All stages of one window, one after the other."""
        prepared = self.pipeline.prepare(rows)
        return self.pipeline.judge(prepared, self._predict(prepared.work))

    def _predict(self, work: EncodedPairs) -> Predictions:
        try:
            return self.pipeline.model.predict(work)
        except (CancelledError, RuntimeError):
            self._check_usable()  # another thread may have closed it
            raise

    def score_pairs(self, premises: Iterable[str], hypotheses: Iterable[str]) -> npt.NDArray[np.float32]:
        """Probabilities of pairs of texts, as the model gives them: the checks of the metric without its labels.

        Args:
            premises: the texts for omission checks, the facts for hallucination checks.
            hypotheses: as many: a fact for omission checks, the text for hallucination checks.

        Returns:
            P(contradiction), P(neutral) and P(entailment) of each pair, in this order; float32, *Shape:* (pairs, 3).
            NaN in all three for a pair without a result (longer than the model accepts, unless ``overlong`` is
            ``truncate``, or not UTF-8), and for a class that the model does not have.

        Raises:
            TypeError: premises or hypotheses that are not a list of strings.
            UsageError: not as many premises as hypotheses.
        """
        first, second = strings("premises", premises), strings("hypotheses", hypotheses)
        if len(first) != len(second):
            raise UsageError(f"there are {len(first)} premises and {len(second)} hypotheses; give equally many")
        self._check_usable()
        readable = np.array([is_utf8(a) and is_utf8(b) for a, b in zip(first, second, strict=True)], bool)
        positions = np.arange(2 * len(first), dtype=np.int32)
        texts = [text if is_utf8(text) else "" for text in (*first, *second)]
        work = self.engine.encode(texts, positions[: len(first)], positions[len(first) :])
        predictions = self._predict(work)
        scored = (predictions.status == SCORED) & readable
        return np.where(scored[:, None], predictions.probabilities, np.float32(np.nan))

    @overload
    def score_table(self, table: str | Path) -> pa.Table: ...
    @overload
    def score_table(self, table: list[RowT]) -> list[dict[str, Any]]: ...
    @overload
    def score_table(self, table: Mapping[str, list[Any] | tuple[Any, ...]]) -> dict[str, list[Any]]: ...
    @overload
    def score_table(self, table: TableT) -> TableT: ...
    @overload
    def score_table(self, table: ArrowStream) -> pa.Table: ...
    def score_table(self, table: Any) -> Any:
        """Add the output columns to a table; order, rows and other columns unchanged.

        Args:
            table: a table of pyarrow, polars or pandas, a record batch, an object with ``__arrow_c_stream__``, a list
                of dictionaries, a dictionary of lists, or the path of a file. Dictionaries are read row by row.

        Returns:
            The same kind of table; a ``pyarrow.Table`` for a path.

        Raises:
            ColumnError: a column is missing, of a type that cannot be read, or has an output column's name.
            ShardError: the file cannot be read.
            TypeError: it is not a table.
        """
        self._check_usable()
        converted, restore = as_table(read_table(table) if isinstance(table, str | Path) else table)
        if has_nothing(converted):
            return table
        columns = self._find_columns(converted.schema)
        judged = self._judge(columns.rows(converted))
        return restore(self.pipeline.finish(Window(None, converted, columns), judged).table)

    def _find_columns(self, schema: pa.Schema) -> InputColumns:
        try:
            return find_columns(schema, self.pipeline.names)
        except ColumnError as error:
            raise of_python(error) from error

    @overload
    def score_batches(self, batches: Iterable[list[RowT]]) -> Iterator[list[dict[str, Any]]]: ...
    @overload
    def score_batches(
        self, batches: Iterable[Mapping[str, list[Any] | tuple[Any, ...]]]
    ) -> Iterator[dict[str, list[Any]]]: ...
    @overload
    def score_batches(self, batches: Iterable[TableT]) -> Iterator[TableT]: ...
    @overload
    def score_batches(self, batches: Iterable[ArrowStream]) -> Iterator[pa.Table]: ...
    def score_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Score a stream of tables, each a window of its own; reading overlaps with inference.

        Args:
            batches: tables of the kinds that :meth:`score_table` takes, paths excepted. Each comes back as its kind, a
                record batch as a ``pyarrow.Table``.

        Raises:
            ColumnError: as :meth:`score_table`.
            TypeError: at once for a single table or no iterable, and during the iteration for a batch of another type.
        """
        single = isinstance(batches, pa.Table | pa.RecordBatch | str | bytes | Mapping) or hasattr(batches, "columns")
        if single or not isinstance(batches, Iterable):
            raise TypeError(f"batches is {described(batches)}; give an iterable of tables (a single one in a list)")
        self._check_usable()
        return self._score_batches(batches)

    def _score_batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        def windows() -> Iterator[Window]:
            for position, batch in enumerate(batches):
                batch = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
                table, restore = as_table(batch, f"batches[{position}]")
                yield Window(restore, table, self._find_columns(table.schema))

        stream = self.pipeline.stream(windows())
        while True:
            self._check_usable()  # it may be another process by now, or the scorer was closed
            scored = next(stream, None)
            if scored is None:
                return
            if isinstance(scored, ScoredWindow):
                yield scored.tag(scored.table)
