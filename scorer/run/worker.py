"""A worker of a joined run (``--join``): takes shards that no other worker holds, until all are done or set aside.

Any number of workers on any machines do this at the same time. They share the plan, and have the output folder in
common, nothing else; see :mod:`scorer.storage.claims`.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from hashlib import blake2b
from pathlib import Path

from ..errors import ScorerError, ShardError, UsageError
from ..scoring.counts import total
from ..scoring.reuse import RecheckLog
from ..scoring.reuse.earlier import check_earlier
from ..scoring.row_scorer import RowScoring
from ..scoring.summary import RunSummary
from ..stats.percentages import percent
from ..storage import (
    Counts,
    Identity,
    InputFile,
    Maker,
    Receipt,
    ShardReader,
    ShardWriter,
)
from ..storage.claims import ClaimLostError, HeldClaim, StandingClaim, key
from ..storage.durable import Holder
from ..storage.joined import JoinedOutput, RunClaims
from ..storage.open_joined import check_location, open_joined
from ..system.signals import sigterm_raises
from .early_check import EarlyCheck
from .fold import fold, verified_receipts
from .joining import Joined, Joining
from .options import JoinOptions, Outcome, Reporter, RunOptions
from .plan_watch import PlanWatch
from .shard_stream import ShardStream
from .survey import Shard
from .versions import versions

_END = "_run.json"
"""What the worker claims that writes the totals; no output has such a name."""
_MOST_MISSES = 8
"""Shards that turned out to be done or held, after which the folder is listed again."""
_LONGEST_PAUSE_S = 5.0


def run_joined(options: RunOptions, join: JoinOptions, scoring: RowScoring, reporter: Reporter) -> Outcome:
    """Work until all shards of the run are done or set aside, by this worker or others; the outcome is the run's.

    Raises:
        ScorerError: nothing can be scored, the folder cannot be used, or this worker means another run.
        Terminated, KeyboardInterrupt: interrupted; the shards that this worker held are free again.
    """
    check_join(options)
    out = options.out
    earlier = tuple(check_earlier(options.reuse, out))
    with ExitStack() as stack:
        stack.enter_context(sigterm_raises())
        reader = stack.enter_context(ShardReader(form=options.form, split_rows=options.split_rows))
        output = open_joined(out, reporter.say)
        stack.callback(output.close)
        joined = Joining(options, join, scoring, reporter, reader, output, earlier).enter(stack)
        claims = stack.enter_context(output.claims(join.lease_s))
        return _Worker(options, join, scoring, reporter, reader, output, joined, claims).work()


def check_join(options: RunOptions) -> JoinOptions:
    """Check what can be checked before a worker starts; returns how it joins.

    Raises:
        ScorerError: an option that workers do not have, or a folder that cannot be used.
    """
    for option, given in (("--prune", options.prune), ("--limit", options.limit), ("--part", options.part)):
        if given:
            if not isinstance(options.out, Path):
                raise UsageError(f"{option} with --out {options.out}: a run into a store is one of workers, which have "
                                 f"no {option}; leave it out")  # fmt: skip
            raise UsageError(f"{option} with --join: workers divide all shards among themselves; give one of the two")
    check_location(options.inputs, options.out, options.form)
    return options.join or JoinOptions()


class _Worker:
    """The state of one worker, which :func:`run_joined` sets up."""

    def __init__(
        self,
        options: RunOptions,
        join: JoinOptions,
        scoring: RowScoring,
        reporter: Reporter,
        reader: ShardReader,
        output: JoinedOutput,
        joined: Joined,
        claims: RunClaims,
    ) -> None:
        self.options, self.join, self.scoring = options, join, scoring
        self.reporter, self.reader, self.output, self.claims = reporter, reader, output, claims
        self.scorer, self.plan, self.reuse, self.known = joined.scorer, joined.plan, joined.reuse, joined.known
        self.watch = PlanWatch.of(output, self.plan)
        self.publishing: HeldClaim | None = None
        self.publisher = output.publisher(self._check, self._confirm)
        self.receipts = output.receipts
        self.claimed: dict[str, HeldClaim] = {}
        self.recheck_log = RecheckLog(self.reuse.sources if self.reuse is not None else None)
        early = EarlyCheck(self.scorer.warnings, options.max_error_rate, reporter.say)
        staging = self.publisher.holder.root
        self.stream = ShardStream(self.scorer, reader, staging, self.plan.budgets, reporter, self.recheck_log, early)
        self.name = f"{os.getpid()}@{socket.gethostname()}"
        self.taken = 0
        self.loaded = False
        self.pause_s = 0.0
        self.computed = 0
        self.renewed = self.ended = time.monotonic()

    def work(self) -> Outcome:
        """Take shards until none is left, then write the totals or wait for the worker that does."""
        while True:
            left = self._left()
            if left:
                before = self.taken
                self._score(left)
                moved = self.taken > before
            else:
                summary = self._concluded() or self._conclude()
                if summary is not None:
                    return self._outcome(summary)
                moved = False
            self._pause(moved)

    def _left(self) -> list[str]:
        """The shards that are neither done nor set aside, in an order of this worker's own."""
        settled = {*self.receipts.all(), *self.receipts.failed_names()}
        left = [relative for relative in self.plan.inputs if relative not in settled]
        return sorted(left, key=lambda relative: blake2b((self.output.token + key(relative)).encode()).digest())

    def _score(self, left: list[str]) -> None:
        if self.reuse is not None and not self.loaded:
            self.reuse.sources.say(self.reporter.say)
            self.reuse.load()
            self.loaded = True
        standing = self.claims.standing()
        if all(not self._is_free(relative, standing) for relative in left):
            return
        with suppress(ShardError):  # the reader belongs to the thread that starts it, which must be this one
            self.reader.probe(self.plan.inputs[left[0]].uri)
        self.ended, self.computed = time.monotonic(), self.scorer.computed
        self.stream.score(self._claimable(left, standing), self.reuse, self)

    def _is_free(self, relative: str, standing: Mapping[str, StandingClaim]) -> bool:
        claim = standing.get(key(relative))
        return claim is None or claim.is_free(self.join.lease_s)

    def _claimable(self, left: list[str], standing: Mapping[str, StandingClaim]) -> Iterator[Shard]:
        """Shards, each claimed when it is asked for; ends when too many have been settled by others meanwhile."""
        misses = 0
        for relative in left:
            if misses >= _MOST_MISSES:
                return
            if not self._is_free(relative, standing):
                continue
            claim = self.claims.take(relative, standing.get(key(relative)))
            if claim is None:
                misses += 1
                continue
            try:
                shard = self._claimed_shard(claim)
            except ClaimLostError:
                shard = None
            if shard is None:
                misses += 1
                self.claims.give_back(claim)
                continue
            self.claimed[relative] = claim
            self.taken += 1
            yield shard

    def _claimed_shard(self, claim: HeldClaim) -> Shard | None:
        """The shard of a claim; ``None`` if it is done, or has been set aside."""
        if self.receipts.is_settled(claim.relative):
            return None
        planned = self.plan.inputs[claim.relative]
        file = InputFile(planned.uri, claim.relative)
        if why := claim.why_hopeless:
            kind = "crashed" if claim.crashes else "expired"
            self._set_aside(claim, ShardError(f"{planned.uri}: {why}; set aside", kind), planned.identity)
            return None
        try:
            shard = self.known.get(claim.relative)
            if shard is None:
                info = self.reader.probe(planned.uri)
                if info.identity != planned.identity:
                    raise ShardError(f"{planned.uri}: it changed after the run was planned", "changed")
                shard = Shard(file, info, self.scoring.find_columns(info.schema), piece=planned.piece)
        except ScorerError as error:
            self._set_aside(claim, error, planned.identity)
            return None
        return shard

    def _check(self) -> None:
        """Make sure that what is about to be published may be: the folder, the plan and the claim are as they were."""
        self.output.check()
        self.watch.check()
        if self.publishing is not None:
            self.publishing.check()

    def _confirm(self) -> None:
        """As :meth:`_check`, before something that another process wrote is replaced."""
        self._check()
        if self.publishing is not None:
            self.claims.confirm(self.publishing)

    def holder(self, shard: Shard) -> Holder:
        """See :class:`.shard_stream.Sink`."""
        return self.publisher.holder

    def moved(self, window: bool) -> None:
        """Renew the claims after a window, or after a batch; a device that hangs renews nothing."""
        computed = self.scorer.computed
        if window or computed != self.computed:
            self._renew()
        self.computed = computed

    def _renew(self) -> None:
        """Renew the claims, unless that was done a moment ago: in a store it costs a request for each of them."""
        now = time.monotonic()
        if now - self.renewed > self.join.lease_s / 20:
            self.claims.renew()
            self.renewed = now

    def commit(self, shard: Shard, writer: ShardWriter, counts: list[Counts]) -> None:
        """Publish the output of a shard, then its receipt, then give its claim back."""
        relative = shard.file.relative
        claim = self.publishing = self.claimed.pop(relative)
        try:
            record = shard.record()
            self._renew()  # a large input takes a while to hash
            written = self.publisher.publish(relative, writer.commit())
            reused = self.reuse.sources.digest if self.reuse is not None else ""
            done, now = total(counts), time.monotonic()
            maker = Maker.of(self.name, self.scorer.origin.to_json(), now - self.ended, done.checks.computed)
            self.ended = now
            self.publisher.write(
                Receipt(
                    relative=relative,
                    input=record,
                    fingerprint=shard.fingerprint(self.scorer.signature, reused),
                    output=written,
                    counts=done,
                    plan=self.plan.digest,
                    maker=maker,
                )
            )
            self.reporter.shard_done(relative, written.rows)
        except ClaimLostError as lost:
            self.reporter.say(f"not published: {lost}")
        finally:
            self.publishing = None
        self.claims.give_back(claim)

    def set_aside(self, shard: Shard, error: ScorerError) -> None:
        """Note why a shard was not scored."""
        claim = self.claimed.pop(shard.file.relative)
        with suppress(ClaimLostError):
            self._set_aside(claim, error, shard.info.identity)
        self.claims.give_back(claim)

    def _set_aside(self, claim: HeldClaim, error: ScorerError, identity: Identity | None) -> None:
        self.output.check()
        self.watch.check()
        claim.check()
        self.output.set_aside(claim.relative)
        kind = error.kind if isinstance(error, ShardError) else "columns"
        self.receipts.write_failed(claim.relative, kind, str(error), identity)
        self.reporter.shard_failed(claim.relative, str(error))

    def _concluded(self) -> RunSummary | None:
        """The totals, if a worker has written them and, where no shard failed, the marker that comes after them."""
        summary = RunSummary.parse(self.output.read_run(), str(self.output.path))
        if summary is None or summary.plan != self.plan.digest:
            return None
        return summary if summary.shards.failed or self.output.is_finished else None

    def _conclude(self) -> RunSummary | None:
        """Write the totals; ``None`` if another worker does, or something is not done after all."""
        standing = self.claims.standing()
        if not self._is_free(_END, standing):
            return None
        claim = self.claims.take(_END, standing.get(key(_END)))
        if claim is None:
            return None
        self.publishing = claim
        try:
            if (summary := self._concluded()) is not None:
                return summary
            # Read back, so that the worker that writes the totals reports the same as all others.
            return self._concluded() if self._write_totals() else None
        except ClaimLostError:
            return None
        finally:
            self.publishing = None
            self.claims.give_back(claim)

    def _write_totals(self) -> bool:
        """Write ``_run.json`` and the marker; false if a shard is not done after all, which is then scored again."""
        reuse = self.reuse
        reused = reuse.sources.digest if reuse is not None else ""
        self.output.refresh()
        found, wrong = verified_receipts(self.plan, self.receipts, self.publisher, reused, self.claims.renew)
        failed = [name for name in self.receipts.failed_names() if name in self.plan.inputs]
        done = {receipt.relative for receipt in found}
        for relative in wrong:
            self.receipts.remove(relative)
            self.reporter.say(f"{relative}: its output or receipt is damaged; it is scored again")
        if wrong or len(done.union(failed)) < len(self.plan.inputs):
            return False
        failed = [name for name in failed if name not in done]
        summary = fold(
            self.plan,
            found,
            len(failed),
            here=self.scorer.origin,
            reuse=reuse.summary() if reuse is not None else (),
            reused_origins=reuse.sources.origins()[1:] if reuse is not None else (),
            recheck=self.recheck_log.figures,
            versions=versions(self.scorer.versions),
        )
        self.output.sweep_after_workers()
        self.publisher.write_run(summary.to_json())
        if not failed:
            self.publisher.write_success(self.plan.digest)
        self.output.remove_claims()
        return True

    def _outcome(self, summary: RunSummary) -> Outcome:
        """The end of the whole run, which is the same for all workers."""
        reasons = []
        if failed := summary.shards.failed:
            reasons.append(f"{failed} shards failed, see {self.options.out}/_failed/")
        if wrong := summary.recheck.disagreed:
            reasons.append(f"{wrong} of {summary.recheck.rows} reused rows that were scored again disagree with the "
                           "earlier output, so its labels cannot be relied on: run without --reuse")  # fmt: skip
        if (rate := summary.counts.error_rate) > self.options.max_error_rate:
            reasons.append(f"{percent(rate)} of the rows have errors, more than --max-error-rate "
                           f"{self.options.max_error_rate}")  # fmt: skip
        return Outcome(summary, 3 if reasons else 0, "; ".join(reasons))

    def _pause(self, moved: bool) -> None:
        """Wait before the folder is listed again, longer each time while only other workers hold shards."""
        if moved:
            self.pause_s = 0.0
            return
        if not self.pause_s:
            self.reporter.say("waiting for shards that other workers hold")
        self.pause_s = min(max(2 * self.pause_s, 0.05), _LONGEST_PAUSE_S, self.join.lease_s / 4)
        time.sleep(self.pause_s)
