"""A night as an asset of Dagster, and its gates as a check that blocks everything downstream; see docs/nightly.md."""

import json
import subprocess
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

import dagster as dg

NIGHTS = Path("/srv/d2t/nights")


@dg.asset(partitions_def=dg.DailyPartitionsDefinition(start_date="2026-01-01"))
def scored(context: dg.AssetExecutionContext) -> None:
    night = date.fromisoformat(context.partition_key)
    before = NIGHTS / str(night - timedelta(days=1))
    reuse = ["--reuse", before] if (before / "_SUCCESS").exists() else []
    command = ["scorer", "run", "data", "--out", NIGHTS / str(night), "--bundle", "bundle"]
    command += ["--templates", "templates.json", *reuse]
    done = subprocess.run(list(map(str, command)), cwd=NIGHTS.parent)
    if done.returncode not in (0, 3):
        raise dg.Failure(f"scorer run ended with {done.returncode}")


@dg.asset_check(asset=scored, blocking=True)
def gates() -> dg.AssetCheckResult:
    from scorer.audit import AuditOptions, audit

    tonight = max(path.parent for path in NIGHTS.glob("????-??-??/_SUCCESS"))
    signature = json.loads((tonight / "_run.json").read_text())["signature"]
    passed = NIGHTS / f"passed-{sha256(signature.encode()).hexdigest()[:12]}"  # a baseline for each signature
    files = [NIGHTS.parent / "gates.toml"]
    before = passed.resolve() if passed.exists() and passed.resolve() != tonight else None
    files += [NIGHTS.parent / "changes.toml"] if before else []
    document = audit(tonight, AuditOptions(baseline=before, gates=tuple(files), require_gates=True))
    if document.status == "pass":
        passed.unlink(missing_ok=True)
        passed.symlink_to(tonight.name)
    messages = [gate.message for gate in document.gates if gate.status in ("warn", "fail")]
    return dg.AssetCheckResult(passed=document.status != "fail", metadata={"gates": messages})


defs = dg.Definitions(assets=[scored], asset_checks=[gates])
