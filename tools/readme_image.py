"""docs/images/viewer.png: a run of the example KPI bot in the viewer, as the README shows it.

    python tools/readme_image.py

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

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "viewer.png"
SIZE = {"width": 1240, "height": 745}
MOST_BYTES = 300_000


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        world = Path(place) / "world"
        with resources.as_file(resources.files("answerkey") / "demo" / "world") as shipped:
            shutil.copytree(shipped, world)
        command = [
            sys.executable,
            "-m",
            "answerkey",
            "run",
            "kpi-v2.toml",
            "--quiet",
            "--no-charts",
        ]
        subprocess.run(command, cwd=world, check=True, stdout=subprocess.DEVNULL)
        run = next((world / "results").iterdir())
        viewer = [sys.executable, "-m", "answerkey", "view", str(run), "--port", "0"]
        with subprocess.Popen(viewer, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                _photograph(server.stdout.readline().strip())
            finally:
                server.terminate()
    size = IMAGE.stat().st_size
    print(f"{IMAGE}: {size / 1024:.0f} KB")
    if size > MOST_BYTES:
        sys.exit(f"larger than {MOST_BYTES:,} bytes")


def _photograph(address: str) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(address, wait_until="networkidle")
        page.get_by_role("link", name="kpi-bot-v2").first.click()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(2000)  # the charts are drawn in the page
        page.screenshot(path=IMAGE)
        browser.close()


if __name__ == "__main__":
    main()
