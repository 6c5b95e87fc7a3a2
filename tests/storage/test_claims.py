"""Claims of shards: one worker gets each, and the one that lost it notices."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scorer.storage import OutputFolder
from scorer.storage.claims import (
    MOST_CRASHES,
    MOST_EXPIRIES,
    ClaimLostError,
    Claims,
    key,
    remove_claims,
    standing_claims,
)
from scorer.storage.workers import has_ended, workers, write_card

LEASE_S = 60.0
NAME = "deep/é.parquet"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[OutputFolder]:
    """A folder that a worker of this process has joined."""
    with OutputFolder.open(tmp_path / "out", create=True, shared=True) as found:
        with found.brief():
            assert found.join_worker() == []
        yield found


def names(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "_claims").glob("*"))


def make_old(out: Path, seconds: float) -> None:
    """Set the claims' times back."""
    for path in (out / "_claims").iterdir():
        found = path.stat().st_mtime - seconds
        os.utime(path, (found, found))


def test_of_many_workers_one_gets_a_shard(folder: OutputFolder) -> None:
    out, barrier = folder.path, threading.Barrier(16)
    found = []

    def claim() -> None:
        claims = Claims(out, folder.token, LEASE_S)
        barrier.wait()
        found.append(claims.take(NAME, None))

    threads = [threading.Thread(target=claim) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16 and sum(claim is not None for claim in found) == 1
    standing = standing_claims(out)[key(NAME)]
    assert (standing.relative, standing.number, standing.worker) == (NAME, 1, folder.token)
    assert not standing.is_free(LEASE_S)


def test_an_expired_claim_is_taken_over_and_its_holder_notices(folder: OutputFolder) -> None:
    out = folder.path
    with Claims(out, folder.token, LEASE_S) as first, Claims(out, folder.token, LEASE_S) as second:
        lost = first.take(NAME, None)
        assert lost is not None
        lost.check()
        make_old(out, LEASE_S + 5)
        over = second.standing()[key(NAME)]
        assert over.is_free(LEASE_S) and not over.ended
        taken = second.take(NAME, over)
        assert taken is not None and (taken.number, taken.crashes, taken.expiries) == (2, 0, 1)
        with pytest.raises(ClaimLostError, match="another worker took it over"):
            lost.check()
        first.give_back(lost)  # takes nothing away from the new holder
        taken.check()
        assert second.standing()[key(NAME)].number == 2
    assert names(out) == []


def test_renewing_keeps_a_claim(folder: OutputFolder) -> None:
    out = folder.path
    with Claims(out, folder.token, LEASE_S) as claims:
        claims.take(NAME, None)
        make_old(out, 2 * LEASE_S)
        claims.renew()
        assert not claims.standing()[key(NAME)].is_free(LEASE_S)


def test_an_old_listing_wins_nothing(folder: OutputFolder) -> None:
    """A worker that saw no claim, while the shard was claimed and taken over, does not become a second holder."""
    out = folder.path
    with Claims(out, folder.token, LEASE_S) as holder, Claims(out, folder.token, LEASE_S) as late:
        holder.take(NAME, None)
        make_old(out, LEASE_S + 5)
        second = holder.take(NAME, holder.standing()[key(NAME)])
        assert second is not None
        assert late.take(NAME, None) is None
        (out / "_claims" / f"{key(NAME)}.1").unlink()
        assert late.take(NAME, None) is None
        second.check()


def test_a_worker_that_ended_leaves_its_claims_free_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with OutputFolder.open(out, create=True, shared=True) as other, OutputFolder.open(out, shared=True) as mine:
        with other.brief():
            other.join_worker()
            mine.join_worker()
        write_card(other.holder, "cpu")
        claims = Claims(out, other.token, LEASE_S)
        claims.take(NAME, None)
        assert [(worker.pid, worker.device) for worker in workers(out) if worker.token == other.token] == [
            (os.getpid(), "cpu")
        ]
        assert not has_ended(out, other.token)
        other.close()  # its claims stay, as those of a worker that was killed
        assert has_ended(out, other.token)
        with Claims(out, mine.token, LEASE_S) as second:
            over = second.standing()[key(NAME)]
            assert over.ended and over.is_free(1e9)
            taken = second.take(NAME, over)
            assert taken is not None and (taken.crashes, taken.expiries, taken.why_hopeless) == (1, 0, None)
    assert names(out) == []


@pytest.mark.parametrize(("crash", "most"), [(True, MOST_CRASHES), (False, MOST_EXPIRIES)])
def test_a_shard_is_given_up_after_so_many_ends(folder: OutputFolder, crash: bool, most: int) -> None:
    out, over = folder.path, None
    for turn in range(most + 1):
        claim = Claims(out, "0" * 16 if crash else folder.token, LEASE_S).take(NAME, over)
        assert claim is not None
        assert (claim.why_hopeless is not None) == (turn == most)
        make_old(out, LEASE_S + 5)
        over = standing_claims(out)[key(NAME)]
        assert over.ended == crash


def test_no_claim_is_taken_after_the_end(folder: OutputFolder) -> None:
    claims = Claims(folder.path, folder.token, LEASE_S)
    claims.close()
    assert claims.take(NAME, None) is None and names(folder.path) == []


def test_what_is_no_claim_is_ignored_and_removed_with_them(folder: OutputFolder) -> None:
    out = folder.path
    (out / "_claims").mkdir()
    for name, content in ((f"{key('a')}.1", ""), (f"{key('b')}.1", "[1]"), ("x", "{"), (f"{key('c')}.x", "{}")):
        (out / "_claims" / name).write_text(content)
    found = standing_claims(out)
    assert sorted(found) == sorted([key("a"), key("b")])
    assert all((claim.worker, claim.ended, claim.is_free(LEASE_S)) == ("", False, False) for claim in found.values())
    remove_claims(out)
    assert not (out / "_claims").exists() and standing_claims(out) == {}
