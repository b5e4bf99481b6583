"""Installations of pi without optional libraries: an environment of links to installed packages."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from scripts.workspace import ROOT, link_sources

MARKERS = {"uv tool": "uv-receipt.toml", "pipx": "pipx_metadata.json"}
"""What an installer leaves in the environment that it has made."""
PROGRAM = "import sys\nfrom pi.cli.main import main\n\nsys.exit(main())\n"


def install_pi(folder: Path, kind: str) -> Path:
    """Make an environment with pi and what it requires, and without pip; return the program."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in ["pi-harness", *_required("pi-harness")]:
        _link(name, packages)
    # That of an editable install is the documentation alone.
    (packages / "pi").unlink(missing_ok=True)
    link_sources(ROOT, packages)
    if kind in MARKERS:
        (folder / MARKERS[kind]).touch()
    program = folder / "bin" / "pi"
    program.write_text(f"#!{folder}/bin/python\n{PROGRAM}", encoding="utf-8")
    program.chmod(0o755)
    return program


def write_wheel(
    folder: Path, name: str, version: str, *, module: str, size: int, content: str = ""
) -> None:
    """Write a wheel with one module, and as many bytes of other data."""
    folder.mkdir(parents=True, exist_ok=True)
    base = f"{name.replace('-', '_')}-{version}"
    files: dict[str, str] = {
        f"{module}.py": content,
        f"{base}.data/data/share/{name}": "x" * size,
        f"{base}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{base}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{base}.dist-info/RECORD"))
    with zipfile.ZipFile(folder / f"{base}-py3-none-any.whl", "w") as wheel:
        for path, content in {**files, f"{base}.dist-info/RECORD": record}.items():
            wheel.writestr(path, content)


def _required(name: str) -> list[str]:
    """The distributions that one requires, without extras and conditions."""
    lines = [line for line in distribution(name).requires or () if ";" not in line]
    names = [match[0] for line in lines if (match := re.match(r"[\w.-]+", line))]
    return list(dict.fromkeys([*names, *(inner for each in names for inner in _required(each))]))


def _link(name: str, packages: Path) -> None:
    """Link the files of a distribution, without programs and import hooks."""
    owner = distribution(name)
    tops = {file.parts[0] for file in owner.files or () if file.suffix != ".pth"}
    for top in tops - {"..", "__pycache__"}:
        (packages / top).symlink_to(Path(str(owner.locate_file(top))))
