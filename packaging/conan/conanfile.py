"""Conan 2 recipe of this checkout: conan create packaging/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"


class EngineTensorConan(ConanFile):
    name = "engine_tensor"
    description = "CPU-first tensor layer for inference engines"
    license = "Apache-2.0"
    topics = ("tensor", "inference", "simd")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"fPIC": [True, False]}
    default_options = {"fPIC": True}

    # The names that our CMake code finds packages and targets by: those of their own package files.
    _cmake_names = {"highway": "hwy"}

    @property
    def _checkout(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        project = load(self, os.path.join(self._checkout, "CMakeLists.txt"))
        self.version = re.search(r"^ +VERSION ([0-9.]+)$", project, re.M)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "src/*", "benchmarks/compare/*",
                        "tools/gdb/*", "tools/natvis/*"):
            copy(self, pattern, self._checkout, self.export_sources_folder)

    def requirements(self):
        # Abseil and fmt are in the public headers.
        self.requires("abseil/[>=20220623]", transitive_headers=True, transitive_libs=True)
        self.requires("fmt/[>=9.1]", transitive_headers=True, transitive_libs=True)
        self.requires("highway/[>=1.0.3]")
        self.requires("nlohmann_json/[>=3.11]", visible=False)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration(f"{self.name} supports Linux on x86_64 and armv8 only.")
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        dependencies = CMakeDeps(self)
        for package, name in self._cmake_names.items():
            dependencies.set_property(package, "cmake_file_name", name)
            dependencies.set_property(package, "cmake_target_name", f"{name}::{name}")
        dependencies.generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["ENGINE_BUILD_TESTS"] = False
        toolchain.cache_variables["ENGINE_BUILD_EXAMPLES"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan writes the CMake package of its own; the table of modules tells it what to write.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        copy(self, "layers.cmake", self.build_folder, os.path.join(self.package_folder, "res"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "engine_tensor")
        table = load(self, os.path.join(self.package_folder, "res", "layers.cmake"))
        variables = dict(re.findall(r'^set\((\w+) "(.*)"\)$', table, re.M))
        for module in variables["ENGINE_MODULES"].split(";"):

            def words(key):
                return [word for word in variables[f"ENGINE_MODULE_{key}_{module}"].split(";") if word]

            component = self.cpp_info.components[module]
            component.set_property("cmake_target_name", f"engine::{module}")
            component.includedirs = [os.path.join("include", "engine")]
            component.libs = [f"engine_{module}"] if words("SOURCES") else []
            component.requires = words("DEPS")
            for external in words("EXTERNAL") + words("EXTERNAL_PRIVATE"):
                component.requires.append(self._conan_name(external))

    def _conan_name(self, target):
        """The Conan component of a CMake target: absl::status is abseil::absl_status."""
        package, name = target.split("::")
        if package == "absl":
            return f"abseil::absl_{name}"
        if package == "hwy":
            return "highway::highway"
        return f"{package}::{name}"
