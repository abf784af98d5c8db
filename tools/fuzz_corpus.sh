#!/usr/bin/env bash
# Gathers seeds for a fuzz target of tests/fuzz: fuzz_corpus.sh yaml|import|… FOLDER [MODELS]. Seeds are small: time is better spent on many inputs.
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
  yaml) find "$top/labs" "$top/catalog" -maxdepth 1 -name '*.yaml' -size -5k -exec cp {} "$corpus" \;
    printf 'a: &x [1, "b", ~]\nc: *x\nd: {e: |\n  text\n}\n<<: *x\n' > "$corpus/small" ;;
  csv) find "$top/catalog" -name '*.csv' | while read -r file; do head -n 8 "$file" > "$corpus/$(basename "$file")"; done ;;
  json) printf '{"a": [1, 2.5e3, true, null, "\\u00e9"], "b": {"c": -1}}' > "$corpus/seed" ;;
  voc) printf '<annotation><object><name>a</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object></annotation>' > "$corpus/voc"
    printf '{"images":[{"id":1}],"categories":[{"id":1,"name":"a"}],"annotations":[{"image_id":1,"category_id":1,"bbox":[1,1,2,2]}]}' > "$corpus/coco" ;;
  tokenizer) printf '{"added_tokens":[{"id":3,"content":"<|endoftext|>"}],"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}' > "$corpus/bpe"
    printf '{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},"decoder":{"type":"WordPiece"},"model":{"type":"WordPiece","vocab":{"[UNK]":0,"t":1,"##h":2,"##e":3}}}' > "$corpus/word_piece"
    printf '{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]},"post_processor":{"type":"BertProcessing","cls":["a",0],"sep":["b",1]}}' > "$corpus/characters"
    printf 'YQ== 0\nYg== 1\n' > "$corpus/ranks" ;;
  metrics) printf '{"step":1,"loss":2.5}\n{"step":4,"test_top1":0.5}\n' > "$corpus/seed" ;;
  *) python3 "$top/tools/fuzz_seeds.py" "$target" "$corpus" ;;
esac
echo "$(ls "$corpus" | wc -l) seeds in $corpus"
