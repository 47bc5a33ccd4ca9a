#!/usr/bin/env bash
# package.sh archives | fetched | sizes
#
#   archives  Writes the .deb and the .tar.gz of a release build into build/package, unpacks each into
#             a scratch folder, and builds and runs the consumer project of tests/package against it.
#   fetched   Builds the library and some of its tests with ENGINE_FETCH_DEPS and nothing but the
#             dependencies' sources: Debian's source packages, which take the place of the downloads.
#   sizes     Builds the library alone from scratch, a release build without a compiler cache, and says
#             how long that took, what each archive holds and what the README's program weighs.
#
# Run by `./dev package`, which installs what this needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*"; }
# quietly <log> <command...>: shows the output only when the command fails.
quietly() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 60 "$log" >&2
    printf 'package.sh: failed: %s\n' "$*" >&2
    exit 1
  }
}

# consume <prefix> <build folder>
consume() {
  rm -rf "$2"
  mkdir -p "$2"
  quietly "$2/log" cmake -S tests/package/find_package -B "$2" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release "-Dengine_tensor_ROOT=$1" "-DEXPECT_PREFIX=$1"
  quietly "$2/log" cmake --build "$2"
  "$2/consumer"
}

archives() {
  local out=$PWD/build/package deb tar
  say "building build/package (Release)"
  rm -f "$out"/*.deb "$out"/*.tar.gz
  mkdir -p "$out"
  quietly "$out/log" cmake --preset package
  quietly "$out/log" cmake --build --preset package
  (cd "$out" && quietly "$out/log" cpack)
  deb=$(echo "$out"/*.deb)
  tar=$(echo "$out"/*.tar.gz)
  say "${deb##*/}, $(stat -c %s "$deb") bytes"
  dpkg-deb --field "$deb" Package Version Architecture Depends
  rm -rf "$out/unpacked"
  mkdir -p "$out/unpacked/deb" "$out/unpacked/tar"
  dpkg-deb --extract "$deb" "$out/unpacked/deb"
  consume "$out/unpacked/deb/usr" "$out/consumer_of_deb"
  # Whether its dependencies exist; nothing is installed.
  quietly "$out/log" apt-get install --simulate --no-install-recommends "$deb"
  say "${tar##*/}, $(stat -c %s "$tar") bytes"
  tar -xzf "$tar" -C "$out/unpacked/tar" --strip-components=1
  consume "$out/unpacked/tar/usr" "$out/consumer_of_tar"
  say "both hold a package that a consumer builds against"
}

# <package in CMake>=<repository's name>=<Debian's source package>
readonly SOURCES=(absl=abseil-cpp=abseil fmt=fmt=fmtlib hwy=highway=highway
  nlohmann_json=json=nlohmann-json3 GTest=googletest=googletest)

fetched() {
  local out=$PWD/build/fetched entry package content debian lists options=() folder
  # Of its own, so that this machine's apt neither needs nor gets source lists.
  lists=$out/apt
  mkdir -p "$lists/lists/partial" "$lists/archives/partial" "$out/sources"
  local suite
  suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  printf 'deb-src [signed-by=%s] %s %s main\n' /usr/share/keyrings/debian-archive-keyring.gpg \
    "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" "$suite" >"$lists/sources.list"
  local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$lists/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::lists=$lists/lists" -o "Dir::Cache=$lists" -o APT::Sandbox::User=root)
  say "Debian's source packages"
  quietly "$out/log" "${apt[@]}" update
  for entry in "${SOURCES[@]}"; do
    IFS== read -r package content debian <<<"$entry"
    folder=$out/sources/$debian
    if [[ ! -e $folder/.complete ]]; then
      rm -rf "$folder"
      mkdir -p "$folder"
      (cd "$folder" && quietly "$out/log" "${apt[@]}" source "$debian" && touch .complete)
    fi
    options+=("-DFETCHCONTENT_SOURCE_DIR_${content^^}=$(echo "$folder"/*/)"
      "-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
  done

  say "building build/fetched with ENGINE_FETCH_DEPS"
  quietly "$out/log" cmake -S . -B "$out/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DENGINE_FETCH_DEPS=ON -DENGINE_BUILD_TESTS=ON "${options[@]}"
  quietly "$out/log" cmake --build "$out/build" --target first_program test_core_status \
    test_tensor test_tensor_copy_cast test_safetensors
  "$out/build/examples/first_program/first_program"
  ctest --test-dir "$out/build" -R '^(core_status|tensor|tensor_copy_cast|safetensors)\.[A-Z]'
}

# program <prefix> <file> [compiler arguments]: the README's program, linked with the installed package.
program() {
  local prefix=$1 file=$2 package
  shift 2
  package=$(PKG_CONFIG_PATH=$(dirname "$prefix"/lib/*/pkgconfig/engine_tensor.pc) \
    pkg-config --cflags --libs engine_tensor)
  # The package's flags are words.
  # shellcheck disable=SC2086
  "${CXX:-c++}" -std=c++20 -O2 "$@" examples/first_program/main.cpp -o "$file" $package
  "$file" >/dev/null
  stat -c %s "$file"
}

sizes() {
  local out=$PWD/build/sizes started archive text data bss
  rm -rf "$out"
  mkdir -p "$out"
  export CCACHE_DISABLE=1
  quietly "$out/log" cmake --preset package -B "$out/build"
  started=$SECONDS
  quietly "$out/log" cmake --build "$out/build"
  say "the library alone, built from scratch: $((SECONDS - started)) s with $(nproc) processors"
  quietly "$out/log" cmake --install "$out/build" --prefix "$out/prefix"
  printf '| Archive | File, KiB | Code and constants, KiB | Variables, bytes |\n|---|---|---|---|\n'
  for archive in "$out"/prefix/lib/*/libengine_*.a; do
    read -r text data bss < <(size --totals "$archive" | awk 'END { print $1, $2, $3 }')
    printf '| %s | %d | %d | %d |\n' "$(basename "$archive")" $(($(stat -c %s "$archive") / 1024)) \
      $(((text + 1023) / 1024)) $((data + bss))
  done
  printf '\nThe program of the README: %d bytes; stripped %d; with -Wl,--gc-sections %d\n' \
    "$(program "$out/prefix" "$out/plain")" "$(program "$out/prefix" "$out/stripped" -s)" \
    "$(program "$out/prefix" "$out/collected" -s -ffunction-sections -fdata-sections -Wl,--gc-sections)"
}

case ${1:-} in
  archives | fetched | sizes) "$1" ;;
  *)
    printf 'usage: package.sh archives | fetched | sizes\n' >&2
    exit 2
    ;;
esac
