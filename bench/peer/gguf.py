"""Writes a Hugging Face checkpoint of the Llama family as a GGUF file, for programs that read no
other: the same weights bit by bit, in bf16, with the checkpoint's tokenizer.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. What llama.cpp wants beside it:
rows of query and key projections in the order of RoPE over pairs, norms in f32, and the factors of a
scaled RoPE as a tensor.
"""

import json
import math
import mmap
import os
import pathlib
import struct

ALIGNMENT = 32
F32, BF16 = 0, 30  # types of tensors
U32, FLOAT, STRING, ARRAY = 4, 6, 8, 9  # types of metadata
NORMAL, CONTROL, UNUSED = 1, 3, 5  # types of tokens
MOSTLY_BF16 = 32  # general.file_type

NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name):
    """model.layers.3.mlp.up_proj.weight -> blk.3.ffn_up.weight"""
    if name in NAMES:
        return NAMES[name]
    _, _, layer, module = name.split(".", 3)
    return f"blk.{layer}.{NAMES[module.removesuffix('.weight')]}.weight"


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def field(key, kind, value):
    return string(key) + struct.pack("<I", kind) + (
        string(value) if kind == STRING else struct.pack("<f" if kind == FLOAT else "<I", value))


def array(key, kind, values):
    items = b"".join(map(string, values)) if kind == STRING else struct.pack(f"<{len(values)}I",
                                                                             *values)
    return string(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + items


def tokenizer_fields(folder, vocab):
    """A byte-level BPE tokenizer; ids that it has no token for become unused ones."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokens = {index: (token, NORMAL) for token, index in tokenizer["model"]["vocab"].items()}
    tokens |= {added["id"]: (added["content"], CONTROL) for added in tokenizer["added_tokens"]}
    listed = [tokens.get(index, (f"[UNUSED{index}]", UNUSED)) for index in range(vocab)]
    merges = [merge if isinstance(merge, str) else " ".join(merge)
              for merge in tokenizer["model"]["merges"]]
    return [
        field("tokenizer.ggml.model", STRING, "gpt2"),
        field("tokenizer.ggml.pre", STRING, "gpt-2"),
        array("tokenizer.ggml.tokens", STRING, [token for token, _ in listed]),
        array("tokenizer.ggml.token_type", U32 + 1, [kind for _, kind in listed]),
        array("tokenizer.ggml.merges", STRING, merges),
    ]


def model_fields(config, name):
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim", config["hidden_size"] // heads)
    numbers = {
        "vocab_size": config["vocab_size"],
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": heads,
        "attention.head_count_kv": config["num_key_value_heads"],
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "rope.dimension_count": head_dim,
    }
    return [
        field("general.architecture", STRING, "llama"),
        field("general.name", STRING, name),
        field("general.file_type", U32, MOSTLY_BF16),
        *(field(f"llama.{key}", U32, value) for key, value in numbers.items()),
        field("llama.rope.freq_base", FLOAT, config["rope_theta"]),
        field("llama.attention.layer_norm_rms_epsilon", FLOAT, config["rms_norm_eps"]),
        field("tokenizer.ggml.bos_token_id", U32, config["bos_token_id"]),
        field("tokenizer.ggml.eos_token_id", U32, config["eos_token_id"]),
    ]


def rope_factors(config):
    """What each frequency is divided by ("llama3" in Hugging Face's modeling_rope_utils)."""
    scaling = config["rope_scaling"]
    head_dim = config["head_dim"]
    factors = []
    for i in range(0, head_dim, 2):
        wavelength = 2 * math.pi * config["rope_theta"] ** (i / head_dim)
        turns = scaling["original_max_position_embeddings"] / wavelength
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        smooth = min(max((turns - low) / (high - low), 0.0), 1.0)
        factors.append(1 / ((1 - smooth) / scaling["factor"] + smooth))
    return struct.pack(f"<{len(factors)}f", *factors)


def in_pairs(data, heads, row_bytes):
    """Rows of each head: row i of its first half, row i of its second, and so on."""
    rows = len(data) // row_bytes
    half = rows // heads // 2
    for head in range(heads):
        for i in range(half):
            for row in (2 * head * half + i, (2 * head + 1) * half + i):
                yield data[row * row_bytes:(row + 1) * row_bytes]


def widened(data):
    """bf16 -> f32"""
    wide = bytearray(2 * len(data))
    wide[2::4] = data[0::2]
    wide[3::4] = data[1::2]
    return bytes(wide)


class Checkpoint:
    """The tensors of a folder with one file of bf16 weights."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        with open(folder / "model.safetensors", "rb") as file:
            (header_bytes,) = struct.unpack("<Q", file.read(8))
            self.tensors = json.loads(file.read(header_bytes))
            self.memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self.data = 8 + header_bytes
        self.tensors.pop("__metadata__", None)

    def parts(self, name):
        """Bytes of a tensor as they stand in the GGUF file, in pieces."""
        info = self.tensors[name]
        begin, end = info["data_offsets"]
        data = self.memory[self.data + begin:self.data + end]
        if len(info["shape"]) == 1:
            return [widened(data)]
        for module, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
            if f".{module}." in name:
                return in_pairs(data, self.config[heads], 2 * info["shape"][1])
        return [data]


def write(folder, target):
    """The checkpoint in `folder` as the GGUF file `target`."""
    checkpoint = Checkpoint(folder)
    config = checkpoint.config
    fields = model_fields(config, folder.name) + tokenizer_fields(folder, config["vocab_size"])
    tensors = []  # (name, dimensions, type, bytes, pieces)
    for name, info in checkpoint.tensors.items():
        shape = info["shape"]
        kind, item = (F32, 4) if len(shape) == 1 else (BF16, 2)
        tensors.append((gguf_name(name), shape[::-1], kind, item * math.prod(shape),
                        checkpoint.parts(name)))
    if config.get("rope_scaling"):
        factors = rope_factors(config)
        tensors.append(("rope_freqs.weight", [len(factors) // 4], F32, len(factors), [factors]))

    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields)) + b"".join(fields)
    offset = 0
    for name, dimensions, kind, size, _ in tensors:
        header += string(name) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions),
                                             *dimensions, kind, offset)
        offset += size + -size % ALIGNMENT
    partial = pathlib.Path(f"{target}.partial")
    with open(partial, "wb") as file:
        file.write(header + bytes(-len(header) % ALIGNMENT))
        for *_, size, pieces in tensors:
            for piece in pieces:
                file.write(piece)
            file.write(bytes(-size % ALIGNMENT))
    os.replace(partial, target)
