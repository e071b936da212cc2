#!/usr/bin/env bash
# Installs a build into a folder, moves that, and builds and runs the examples against it through
# find_package and pkg-config. install_test.sh SOURCE BUILD CC CXX
set -euo pipefail
source=$1 build=$2 cc=$3 cxx=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export CCACHE_DISABLE=1

quietly() { "$@" > log.txt 2>&1 || { cat log.txt; exit 1; }; }

quietly cmake --install "$build" --prefix "$folder/first"
mv first prefix  # nothing may depend on where it was installed
prefix=$folder/prefix

echo '{"prompt": "Velina works as a tailor."}' > in.jsonl
quietly "$prefix/bin/pando" run --input in.jsonl --max-tokens 1 --output out.jsonl

echo "find_package"
quietly cmake -S "$source/examples" -B examples -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_COMPILER_LAUNCHER=
quietly cmake --build examples -j 2
quietly ctest --test-dir examples --output-on-failure --no-tests=error

echo "pkg-config"
export PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name pando.pc)")
quietly "$cxx" "$source/examples/answer.cc" -o by_pkg_config $(pkg-config --cflags --libs pando)
quietly "$cc" -std=c11 "$source/examples/answer.c" -o c_by_pkg_config $(pkg-config --cflags --libs pando-c)
for program in ./by_pkg_config ./c_by_pkg_config; do
  $program "$(pkg-config --variable=demo_model pando)" > out.txt
  grep -q "profession of Velina? tailor" out.txt || { cat out.txt; exit 1; }
done

# Configured only: it would compile everything again.
echo "add_subdirectory"
mkdir outer
cat > outer/CMakeLists.txt <<LISTS
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C CXX)
add_subdirectory("$source" pando)
add_executable(answer "$source/examples/answer.cc")
target_link_libraries(answer PRIVATE pando::pando)
add_executable(answer_c "$source/examples/answer.c")
target_link_libraries(answer_c PRIVATE pando::c)
LISTS
quietly cmake -S outer -B outer/build -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"

# Only the files of an instruction set ask for one: the program starts on every processor.
echo "baseline"
if grep -o '"command": .*' "$build/compile_commands.json" | grep -v -E '_(avx[0-9a-z]*|amx)\.cc' | grep -E -- ' -m(arch|tune|cpu|avx|amx|fma|f16c|sse[34])'; then
  echo "these files are compiled for more than the baseline"
  exit 1
fi
