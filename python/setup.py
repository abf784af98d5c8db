"""Builds the engine's module with CMake and puts the program into the package, so that a wheel needs nothing compiled by its user.

TRAINYARD_BUILD is a build folder of the source tree (default: ../build/release); TRAINYARD_PREFIX is an installed library
instead. The folder of the source stays as it is: everything is made in a temporary one. tools/wheel makes wheels that bring their libraries.
"""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
WORK = tempfile.mkdtemp(prefix="trainyard-wheel-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)


class CMakeBuild(build_ext):
    def build_extension(self, extension: Extension) -> None:
        work = pathlib.Path(self.build_temp).resolve()
        work.mkdir(parents=True, exist_ok=True)
        prefix = os.environ.get("TRAINYARD_PREFIX")
        if not prefix:
            build = pathlib.Path(os.environ.get("TRAINYARD_BUILD", HERE.parent / "build" / "release")).resolve()
            if not (build / "trainyard").exists():
                raise SystemExit(f"there is no program in {build}: build it first (./run), or set TRAINYARD_BUILD or TRAINYARD_PREFIX")
            prefix = str(work / "prefix")
            for component in ("program", "development"):
                subprocess.run(["cmake", "--install", str(build), "--prefix", prefix, "--component", component], check=True,
                               stdout=subprocess.DEVNULL)
        target = pathlib.Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cmake", "-S", str(HERE), "-B", str(work / "cmake"), "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}",
                        f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={target.parent}"], check=True)
        subprocess.run(["cmake", "--build", str(work / "cmake")], check=True)
        (target.parent / "bin").mkdir(exist_ok=True)
        program = target.parent / "bin" / "trainyard"
        shutil.copy2(pathlib.Path(prefix) / "bin" / "trainyard", program)
        subprocess.run(["strip", "--strip-unneeded", str(target), str(program)], check=True)
        # Of the libraries too, where they come along.
        licenses = os.environ.get("TRAINYARD_LICENSES", pathlib.Path(prefix) / "share/doc/trainyard")
        shutil.copytree(licenses, target.parent / "licenses", dirs_exist_ok=True)


setup(ext_modules=[Extension("trainyard._engine", sources=[])], cmdclass={"build_ext": CMakeBuild},
      options={"build": {"build_base": WORK}, "egg_info": {"egg_base": WORK}})
