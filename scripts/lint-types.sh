#!/bin/sh
# Types and layers: mypy --strict and import-linter.
#   scripts/lint-types.sh VENV
# Neither follows setuptools' package-dir, so framelane is put together from links in build/typing.
set -eu
bin=${1:?usage: lint-types.sh VENV}/bin

rm -rf build/typing
mkdir -p build/typing/framelane
for entry in sw/*; do
    ln -s "../../../$entry" build/typing/framelane/
done
ln -s ../../../models build/typing/framelane/models

# A block's test and its testbench have the same file name: each is named by its folder, too.
status=0
"$bin/python" -m mypy --explicit-package-bases \
    build/typing/framelane tests sim/cocotb sim/boards sim/softroce scripts examples || status=1
PYTHONPATH=build/typing "$bin/lint-imports" --no-logo --cache-dir build/cache/import-linter || status=1
exit $status
