"""Conan 2 recipe of the C++ library, without the trainer and the programs.

usage: conan create tools/packaging/conan

The libraries that it links come from the system (tools/install_packages.sh); Conan's are not used.
Programs find it by its own CMake package: find_package(recordpipe COMPONENTS ...).
"""

import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Recordpipe(ConanFile):
    name = "recordpipe"
    description = "TFRecord files and input pipelines in C++20"
    license = "Apache-2.0"
    package_type = "static-library"
    settings = "os", "compiler", "build_type", "arch"

    def root(self):
        return pathlib.Path(self.recipe_folder).parents[2]

    def set_version(self):
        header = self.root() / "dataset/include/recordpipe/base/version.h"
        self.version = re.search(r'RECORDPIPE_VERSION "(.+)"', header.read_text())[1]

    def export_sources(self):
        names = ("cmake", "dataset", "examples", "proto", "tests/bench", "tools", "trainer")
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", *(f"{name}/*" for name in names)):
            copy(self, pattern, self.root(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.variables["CMAKE_UNITY_BUILD"] = True
        toolchain.variables["RECORDPIPE_TESTS"] = False
        toolchain.variables["RECORDPIPE_WHOLE"] = False
        for package in ("CLI11", "Protobuf", "dnnl"):  # the programs, the trainer
            toolchain.variables[f"CMAKE_DISABLE_FIND_PACKAGE_{package}"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install(component="development")
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder) / "licenses")

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/recordpipe"]
