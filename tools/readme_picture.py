"""docs/images/report.png: the report page of version 2 of the example KPI bot, as the README shows it.

    python tools/readme_picture.py

Needs the `dev` group and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"
SIZE = {"width": 1240, "height": 1010}
MOST_BYTES = 300_000


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        world = Path(place) / "world"
        with resources.as_file(resources.files("answerkey") / "demo" / "world") as shipped:
            shutil.copytree(shipped, world)
        command = [sys.executable, "-m", "answerkey", "run", "kpi-v2.toml", "--quiet"]
        subprocess.run(command, cwd=world, check=True, stdout=subprocess.DEVNULL)
        page = next(world.glob("results/*/report.html"))
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        _photograph(page)
    size = PICTURE.stat().st_size
    print(f"{PICTURE}: {size / 1024:.0f} KB")
    if size > MOST_BYTES:
        sys.exit(f"larger than {MOST_BYTES:,} bytes")


def _photograph(page: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        view = browser.new_page(viewport=SIZE, color_scheme="light")
        view.goto(page.as_uri())
        view.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
