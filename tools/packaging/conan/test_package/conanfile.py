"""Builds and runs a program with the package."""

from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "compiler", "build_type", "arch"
    generators = "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder="../../../../tests/install/one_program")
        cmake.build()

    def test(self):
        self.run(f"{self.cpp.build.bindir}/program")
