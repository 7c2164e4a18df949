"""Check what the packages in a folder contain: python tools/check_packages.py dist

A wheel holds the files of python/merganser, the compiled core, and metadata with the license and an SBOM. An
sdist holds every file of the repository, so that it can be built and tested from an unpacked copy. Anything
that is missing or that does not belong there is printed, and the exit code is 1.
"""

import re
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "python"
PACKAGE = SOURCE / "merganser"
#: Left behind by Python, the build and the system.
STRAYS = re.compile(r"(^|/)(__pycache__|\.DS_Store|.*\.(pyc|so|pyd|dylib|orig|rej|tmp))(/|$)")
#: The compiled core: of the stable ABI, of Windows, or of one version of Python.
CORE = re.compile(r"merganser/_core\.(abi3\.so|pyd|cpython-3\d+t?-[\w-]+\.so|cp3\d+t?-win\w+\.pyd)")
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
SBOM = re.compile(r"sboms/[\w.-]+\.cyclonedx\.json")


def check_wheel(path: Path) -> list[str]:
    """Return what is missing in a wheel, and what does not belong there."""
    with ZipFile(path) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    info = f"{'-'.join(path.name.split('-')[:2])}.dist-info/"
    metadata = {name.removeprefix(info) for name in names if name.startswith(info)}
    cores = {name for name in names if CORE.fullmatch(name)}
    sboms = {name for name in metadata if SBOM.fullmatch(name)}
    package = {name for name in names if not name.startswith(info)} - cores
    problems = _differences(package, _package_files()) + _differences(metadata - sboms, METADATA)
    if len(cores) != 1:
        problems.append(f"{len(cores)} compiled cores instead of one: {', '.join(sorted(cores))}")
    if not sboms:
        problems.append("no SBOM")
    return [f"{path.name}: {problem}" for problem in problems]


def check_sdist(path: Path) -> list[str]:
    """Return what is missing in an sdist, and what does not belong there."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames() if "/" in name}
    return [f"{path.name}: {problem}" for problem in _differences(names - {"PKG-INFO"}, _repository_files())]


def _package_files() -> set[str]:
    """Return the files of the package, with the type stubs of its core, relative to python/."""
    files = (file.relative_to(SOURCE).as_posix() for file in PACKAGE.rglob("*") if file.is_file())
    return {file for file in files if not STRAYS.search(file)}


def _repository_files() -> set[str]:
    listed = subprocess.run(
        ["git", "-c", "core.quotepath=off", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return {name for name in listed.stdout.split("\0") if name}


def _differences(found: set[str], expected: set[str]) -> list[str]:
    missing = [f"{name} is missing" for name in sorted(expected - found)]
    return missing + [f"{name} does not belong there" for name in sorted(found - expected)]


def main(folder: Path) -> int:
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    problems = [problem for path in wheels for problem in check_wheel(path)]
    problems += [problem for path in sdists for problem in check_sdist(path)]
    if not wheels and not sdists:
        problems.append(f"no packages in {folder}; build them with: make package")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
