#!/usr/bin/env bash
# Gathers seeds for import_fuzz in the folder $1: the small models of Debian's libonnx-testdata.
set -euo pipefail
corpus=${1:?say which folder to fill}
mkdir -p "$corpus"
find /usr/share/libonnx-testdata/data -name '*.onnx' -size -8k | while read -r file; do
  cp "$file" "$corpus/$(echo "${file%/model.onnx}" | sed 's|.*/||').onnx"
done
echo "$(ls "$corpus" | wc -l) seeds in $corpus"
