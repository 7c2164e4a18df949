"""Copy the SBOMs inside the wheels of a folder beside them: python tools/extract_sbom.py dist"""

import sys
from pathlib import Path
from zipfile import ZipFile


def main(folder: Path) -> int | str:
    wheels = sorted(folder.glob("merganser-*.whl"))
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            for name in archive.namelist():
                if "/sboms/" in name:
                    out = folder / f"{wheel.stem}.{Path(name).name}"
                    out.write_bytes(archive.read(name))
                    print(out)
    return 0 if wheels else f"no wheel in {folder}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
