# SPDX-License-Identifier: GPL-2.0-only
"""What several tests use: the command, scenarios, sweeps."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"

SCENARIO = """\
machine = "2cpu"
duration = "200ms"
[cgroup."/a"]
"cpu.weight" = 50
[[workload]]
name = "x"
count = 3
cgroup = "/a"
program = "forever { run exponential(2ms); sleep exponential(1ms) }"
[[workload]]
kind = "hog"
name = "hog"
count = 2
"""

SWEEP = """\
scenario = "s.toml"
seeds = 3
[[axis]]
key = "kernel"
values = ["6.1", "6.12"]
[[axis]]
key = "cgroup:/a:cpu.weight"
values = [50, 200]
"""


@pytest.fixture(scope="session")
def command():
    """Runs the command, and returns what it prints."""
    built = [ROOT / "target" / profile / "zerolag" for profile in ("release", "debug")]
    found = [path for path in built if path.exists()]
    path = os.environ.get("ZEROLAG") or (str(found[0]) if found else shutil.which("zerolag"))
    if path is None:
        pytest.fail("the command zerolag is not built: cargo build --release, or name it in ZEROLAG")

    def run(*args, cwd=ROOT):
        return subprocess.run([path, *map(str, args)], cwd=cwd, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture
def scenario(tmp_path):
    """A scenario's file."""
    path = tmp_path / "s.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def sweep(scenario):
    """A sweep's file: four points with three seeds."""
    path = scenario.with_name("sweep.toml")
    path.write_text(SWEEP)
    return path
