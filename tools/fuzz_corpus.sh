#!/usr/bin/env bash
# Gathers seeds for a fuzz target: fuzz_corpus.sh import|yaml|json|csv|npy|picture|safetensors|pth|tflite|metrics|idx_cifar|voc FOLDER [MODELS]
set -euo pipefail
target=${1:?say which target}
corpus=${2:?say which folder to fill}
top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$corpus"
case $target in
  import)
    # A third folder, of a node suite that tools/node_suite unpacked, brings opsets 18 and later and bodies of control flow.
    find /usr/share/libonnx-testdata/data ${3:+"$3"} -name '*.onnx' -size -8k | while read -r file; do
      cp "$file" "$corpus/$(echo "${file%/model.onnx}" | sed 's|.*/||').onnx"
    done ;;
  yaml) cp "$top"/labs/*.yaml "$top"/catalog/*.yaml "$corpus" ;;
  csv) find "$top/catalog" -name '*.csv' -exec cp {} "$corpus" \; ;;
  json) printf '{"a": [1, 2.5e3, true, null, "\\u00e9"], "b": {"c": -1}}' > "$corpus/seed" ;;
  voc) printf '<annotation><object><name>a</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object></annotation>' > "$corpus/voc"
    printf '{"images":[{"id":1}],"categories":[{"id":1,"name":"a"}],"annotations":[{"image_id":1,"category_id":1,"bbox":[1,1,2,2]}]}' > "$corpus/coco" ;;
  metrics) printf '{"step":1,"loss":2.5}\n{"step":4,"test_top1":0.5}\n' > "$corpus/seed" ;;
  *) python3 -c "
import sys; sys.path.insert(0, '$top/tests/hostile'); sys.dont_write_bytecode = True
import pathlib, fixtures
out = pathlib.Path('$corpus')
shape = {'dtype': 'F32', 'shape': [2], 'data_offsets': [0, 8]}
seeds = {
    'npy': [fixtures.npy(\"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\", bytes(8))],
    'safetensors': [fixtures.safetensors({'__metadata__': {'a': 'b'}, 'w': shape}, bytes(8))],
    'pth': [fixtures.pth(b'}(X\1\0\0\0actorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0' b'0X\3\0\0\0cpuK\2tQK\0K\2\x85K\1\x85\x89ccollections\nOrderedDict\n)RtRu', **{'data/0': bytes(8)}),
            b'\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.\x80\2}.\x80\2}.\x80\2].'],
    'tflite': [b'\x10\0\0\0TFL3\6\0\x0a\0\4\0\0\0\0\0\0\0\x08\0\0\0\0\3\0\0\0' + bytes(16)],
    'picture': [fixtures.png(4, 4, data=bytes(52)), b'\xff\xd8\xff\xe0\x00\x10JFIF'],
    'idx_cifar': [b'\0' + bytes(3073), b'\1' + bytes(3074), b'\2' + b'\0\0\x08\3\0\0\0\1\0\0\0\2\0\0\0\2' + bytes(4) + b'\0\0\x08\1\0\0\0\1\0'],
}['$target']
for number, seed in enumerate(seeds): (out / str(number)).write_bytes(seed)" ;;
esac
echo "$(ls "$corpus" | wc -l) seeds in $corpus"
