"""Builds the package with CMake alone: the PEP 517 and 660 backend that pyproject.toml names. It needs nothing from an index.

A build folder `build/` that is there is brought up to date and used, unless it has sanitizers; else one is made with the
library and the extension module alone. `--config-settings=bundle=1` puts the libraries of the system that libweft needs
into the wheel, for machines that do not have them. `--config-settings=build=DIR` names another build folder.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAG = "cp311-abi3-linux_" + os.uname().machine
BUNDLED = re.compile(r"lib(tbb|z3|zstd|fmt|xxhash|z)\.so")


def _version():
    return re.search(r"project\(weft VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def _project(word):
    return re.search(rf'^{word} = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]


def _metadata():
    readme = (ROOT / _project("readme")).read_text()
    return (f"Metadata-Version: 2.1\nName: weft\nVersion: {_version()}\nSummary: {_project('description')}\n"
            f"License: Apache-2.0\nRequires-Python: {_project('requires-python')}\nRequires-Dist: numpy>=1.24\n"
            f"Description-Content-Type: text/markdown\n\n{readme}")


def _run(*command):
    """Its output is progress, which pip shows under -v, and otherwise if it fails."""
    print("+", *command, flush=True)
    subprocess.run(command, check=True, cwd=ROOT)


def _cache_entry(build, name):
    cache = build / "CMakeCache.txt"
    found = re.search(rf"^{name}:\w+=(.*)$", cache.read_text(), re.M) if cache.exists() else None
    return found[1] if found else ""


def _built(settings):
    """A build folder with libweft and _weft."""
    build = ROOT / (settings or {}).get("build", "build")
    headers = sysconfig.get_path("include")
    options = [f"-DWEFT_PYTHON_HEADERS={headers}"]
    if _cache_entry(build, "WEFT_SANITIZE") not in ("", "OFF"):
        build = ROOT / "build" / "python-package"
    if not (build / "CMakeCache.txt").exists():
        options += ["-DCMAKE_BUILD_TYPE=Release", "-DWEFT_TESTS=OFF", "-DWEFT_BENCH=OFF"]
        options += ["-GNinja"] if shutil.which("ninja") else []
    if not (pathlib.Path(headers) / "Python.h").exists():
        raise SystemExit(f"weft: {headers}/Python.h is missing; Debian has it in python3-dev")
    _run("cmake", "-S", str(ROOT), "-B", str(build), *options)
    _run("cmake", "--build", str(build), "--parallel", str(len(os.sched_getaffinity(0))), "--target", "weft_python")
    return build


def _system_libraries(library):
    """What a shared library needs of the system, and those in turn, that a bare machine may not have; Z3 is opened by name."""
    listed = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    found = {name: path for name, path in re.findall(r"(\S+) => (/\S+)", listed) if BUNDLED.match(name)}
    cache = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    found.update((name, path) for name, path in re.findall(r"(libz3\.so\.\S+) .*=> (/\S+)", cache))
    return found


class _Wheel:
    """A wheel while it is written, and its record."""

    def __init__(self, directory, tag):
        self.name = f"weft-{_version()}-{tag}.whl"
        self._info = f"weft-{_version()}.dist-info"
        self._tag = tag
        self._zip = zipfile.ZipFile(pathlib.Path(directory) / self.name, "w", zipfile.ZIP_DEFLATED)
        self._record = []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}\n")

    def close(self):
        self.add(f"{self._info}/METADATA", _metadata().encode())
        self.add(f"{self._info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {self._tag}\n".encode())
        self.add(f"{self._info}/LICENSE", (ROOT / "LICENSE").read_bytes())
        record = "".join(self._record) + f"{self._info}/RECORD,,\n"
        self._zip.writestr(f"{self._info}/RECORD", record)
        self._zip.close()
        return self.name


def _package_files():
    package = ROOT / "python" / "weft"
    return sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = _built(config_settings)
    wheel = _Wheel(wheel_directory, TAG)
    for path in _package_files():
        wheel.add(path.relative_to(ROOT / "python").as_posix(), path.read_bytes())
    with tempfile.TemporaryDirectory() as place:
        _run("cmake", "--install", str(build), "--component", "python", "--prefix", place, "--strip")
        libraries = sorted(path for path in pathlib.Path(place).rglob("*.so*"))
        if (config_settings or {}).get("bundle") == "1":
            own = next(path for path in libraries if path.name.startswith("libweft"))
            for name, path in sorted(_system_libraries(str(own)).items()):
                wheel.add(f"weft/{name}", pathlib.Path(path).read_bytes(), 0o755)
        for path in libraries:
            wheel.add(path.relative_to(place).as_posix(), path.read_bytes(), 0o755)
    return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The sources in place, and the extension module of the build folder."""
    build = _built(config_settings)
    wheel = _Wheel(wheel_directory, TAG)
    wheel.add("weft.pth", f"{ROOT / 'python'}\n{build / 'python'}\n".encode())
    return wheel.close()


def build_sdist(sdist_directory, config_settings=None):
    """What building takes: everything that git knows, or, without git, everything but build folders."""
    name = f"weft-{_version()}"
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        listed = [path.relative_to(ROOT).as_posix() for path in sorted(ROOT.rglob("*")) if path.is_file()]
    skipped = re.compile(r"^(build/|build-|\.git/|\.ci/|PKG-INFO)|__pycache__|^samples/data/.*\.zst$")
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(filter(None, listed)):
            if not skipped.search(path) and (ROOT / path).is_file():
                archive.add(ROOT / path, f"{name}/{path}", recursive=False)
        with tempfile.TemporaryDirectory() as place:
            info = pathlib.Path(place) / "PKG-INFO"
            info.write_text(_metadata())
            archive.add(info, f"{name}/PKG-INFO")
    return f"{name}.tar.gz"


def _no_requirements(config_settings=None):
    return []


get_requires_for_build_wheel = get_requires_for_build_editable = get_requires_for_build_sdist = _no_requirements
if __name__ == "__main__":  # python3 python/build/backend.py DIRECTORY: a wheel without pip
    print(build_wheel(sys.argv[1] if len(sys.argv) > 1 else "."))
