# SPDX-License-Identifier: GPL-2.0-only
"""What is shown to users works: README's example, the notebooks, the types."""

import doctest
import re
import subprocess
import sys
from importlib import metadata

import nbformat
import pytest
import zerolag
from nbclient import NotebookClient

from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "python" / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "clear the outputs"
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


def test_readme_s_example_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    section = (ROOT / "README.md").read_text().split("\n## From Python\n")[1].split("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.S)
    exec(compile(example, "README.md", "exec"), {})


def test_the_package_s_own_example_is_true():
    failed, tried = doctest.testmod(zerolag)
    assert failed == 0 and tried > 1


def test_types_are_as_the_stubs_say():
    for tool in [["mypy", "--strict", "-p", "zerolag"], ["mypy.stubtest", "zerolag._engine"]]:
        done = subprocess.run([sys.executable, "-m", *tool], cwd="/", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_everything_that_is_exported_says_what_it_is():
    undocumented = [name for name in zerolag.__all__ if name[0] != "_" and not getattr(zerolag, name).__doc__]
    assert undocumented == []
    for kind in [zerolag.Run, zerolag.Case, zerolag.Outcome, zerolag.Store, zerolag.Sweep, zerolag.Comparison]:
        public = [name for name in vars(kind) if name[0] != "_"]
        assert [name for name in public if not getattr(kind, name).__doc__] == []


def test_the_package_has_the_engine_s_version():
    assert metadata.version("zerolag") == zerolag.__version__
