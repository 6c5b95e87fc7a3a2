"""The first screen of an audit's report as docs/pictures/report.png: `make figures`, where a Chromium is installed.

The report is that of the third night of tests/audit/test_nightly.py, scored with the embedded model against the second.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import chdir
from itertools import islice
from pathlib import Path

from tests.audit.nights import command
from tests.audit.test_nightly import scored, week

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = "1280,1040"


def main() -> None:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print("no Chromium is installed: the picture of the report stays as it is")
        return
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        work = Path()
        _, good, bad = islice(week(), 3)
        before, now = scored(work, 1, good), scored(work, 2, bad)
        command("gates", "init", before, "--by", "system", "--gates", work / "g.toml", "--changes", work / "c.toml")
        gates = ["--gates", work / "g.toml", "--gates", work / "c.toml"]
        report = work / "report.html"
        command("audit", now, "--baseline", before, *gates, "--report", report, code=1)
        picture = PICTURES / "report.png"
        size = f"--window-size={SIZE}"
        taken = [browser, "--headless", "--no-sandbox", "--hide-scrollbars", size, f"--screenshot={picture}"]
        subprocess.run([*taken, report.resolve().as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
