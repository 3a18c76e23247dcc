#!/usr/bin/env python3
"""Writes the SentencePiece models of this folder and golden.json: what PyPI's sentencepiece 0.2.3 makes
of a few texts with each. The models are trained on text that is in tests/data.

    python3 -m pip install sentencepiece==0.2.3 && python3 tests/data/sentencepiece/make_models.py
"""

import json
import pathlib
import tempfile

import sentencepiece

HERE = pathlib.Path(__file__).parent
CORPUS = (HERE.parent / "embedded" / "ppl_northanger_abbey.txt").read_text().splitlines()[:400]
CORPUS += ["naïve café, œuvre über straße: 12 345.67 €", "if (a < b) {\treturn a;  }", "  <i>indented</i>  twice"] * 20

# A map of characters as small as can be: what it covers is in COMPOSED below.
RULES = "\n".join(
    ["9\t20", "A0\t20", "3000\t20", "200B\t", "FF21\t41", "FF22\t42", "FB01\t66 69", "65 301\tE9", "2126\t3A9"]
)

TEXTS = [
    "",
    " ",
    "   ",
    "a",
    " a",
    "a ",
    "Hello world",
    "  Hello   world  ",
    "the brother of Mrs. Morland,\nand her sister",
    "It was\n\nnot\n\n\n so.\t\tTabs",
    "naïve café, œuvre 12345 €!",
    "unknown: 你好, 😀 and \u0001",
    "你好你好",
    "trailing mark ▁",
    "one  two   three    four     five",
    "if (a < b) {\n    return a;\n}\n",
    "x" * 70,
]
COMPOSED = ["cafe\u0301 \uff21\uff22 \ufb01ne \u2126", "a\u3000b\u00a0c\td", "\u200b", "x\u200by", "\tTab first"]
# Beside a space, what is typed as U+2581 may belong to a user-defined run for SentencePiece only.
MARKS = ["▁ literal ▁▁ marks"]
USER_DEFINED = ["<sep>", "a<sep>b", "<sep> <sep>a", "see<<sep>>"]

MODELS = {
    # As Llama's: nothing is done to the text but a space in front; what is not known falls back to bytes.
    "bpe": dict(model_type="bpe", vocab_size=520, byte_fallback=True, normalization_rule_name="identity",
                remove_extra_whitespaces=False),
    # As Gemma's: no space in front, runs of white space are tokens of their own.
    "bpe_runs": dict(model_type="bpe", vocab_size=560, byte_fallback=True, normalization_rule_name="identity",
                     remove_extra_whitespaces=False, add_dummy_prefix=False, pad_id=3,
                     user_defined_symbols=["<sep>"] + [c * n for n in range(2, 6) for c in "\n▁"] + ["\n", "\t"]),
    # As T5's and XLNet's: characters are mapped, spaces are cleaned up, what is not known has one token.
    "unigram": dict(model_type="unigram", vocab_size=400, rules=True),
    "unigram_bytes": dict(model_type="unigram", vocab_size=600, byte_fallback=True, normalization_rule_name="identity",
                          remove_extra_whitespaces=False, user_defined_symbols=["<sep>"]),
}


def train(name, folder, rules=False, **options):
    if rules:
        path = folder / "rules.tsv"
        path.write_text(RULES + "\n")
        options["normalization_rule_tsv"] = str(path)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_prefix=str(folder / name), minloglevel=2, num_threads=1,
        max_sentence_length=100000, **options)
    model = (folder / f"{name}.model").read_bytes()
    (HERE / f"{name}.model").write_bytes(model)
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def main():
    golden = {"sentencepiece": sentencepiece.__version__, "models": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in MODELS.items():
            processor = train(name, pathlib.Path(folder), **options)
            texts = TEXTS + COMPOSED * ("rules" in options)
            texts += USER_DEFINED if name == "bpe_runs" else MARKS
            golden["models"][name] = {
                "vocab_size": processor.vocab_size(),
                "bos_id": processor.bos_id(),
                "eos_id": processor.eos_id(),
                "cases": [{"text": text, "ids": processor.encode(text)} for text in texts],
            }
    (HERE / "golden.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
