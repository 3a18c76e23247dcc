#!/usr/bin/env python3
"""Writes a checkpoint of random weights with golden values: tests/data/tiny/gemma and .../glm.

    tests/tools/write_tiny_family.py gemma tests/data/tiny/gemma --tokenizer tests/data/tiny/gemma2
    tests/tools/write_tiny_family.py glm tests/data/tiny/glm --tokenizer tests/data/tiny/qwen2

The forward pass is written from the published formulas (modeling_gemma.py and modeling_glm.py of
transformers), in float64 and without any code of Lathe. It needs NumPy. The seed is the first with
which both greedy runs have at least 8 different tokens and no choice is closer than 0.02.
"""

import argparse
import json
import math
import pathlib
import shutil
import struct

import numpy as np

VOCAB, HIDDEN, MLP, LAYERS, HEADS = 384, 64, 96, 2, 4
GREEDY = 24
PROMPTS = (12, 33)
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


class Gemma:
    """GemmaForCausalLM: embeddings times sqrt(hidden), norms times 1 + weight, one key-value head."""

    kv_heads, head_dim = 1, 32
    config = {
        "architectures": ["GemmaForCausalLM"], "model_type": "gemma", "rms_norm_eps": 1e-6,
        "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
        "tie_word_embeddings": True,
    }
    norm_offset = 1.0
    embedding_scale = math.sqrt(HIDDEN)
    branch_gain = 5.0  # so that layers count beside the scaled embedding

    @staticmethod
    def weights(random):
        tensors = {}
        for layer in range(LAYERS):
            prefix = f"model.layers.{layer}.mlp."
            tensors[prefix + "gate_proj.weight"] = random.linear(MLP, HIDDEN)
            tensors[prefix + "up_proj.weight"] = random.linear(MLP, HIDDEN)
        return tensors

    @staticmethod
    def gated(weights, layer, x):
        prefix = f"model.layers.{layer}.mlp."
        gate = x @ weights[prefix + "gate_proj.weight"].T
        inner = math.sqrt(2.0 / math.pi) * (gate + 0.044715 * gate**3)
        return 0.5 * gate * (1.0 + np.tanh(inner)) * (x @ weights[prefix + "up_proj.weight"].T)

    @staticmethod
    def rotate(x):
        """Value i turns with value i + head_dim / 2."""
        cos, sin = angles(len(x), x.shape[-1])
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


class Glm:
    """GlmForCausalLM: biases of q, k and v; neighbours turn, in half of each head; packed MLP."""

    kv_heads, head_dim = 2, 16
    config = {
        "architectures": ["GlmForCausalLM"], "model_type": "glm", "rms_norm_eps": 1.5625e-7,
        "hidden_act": "silu", "partial_rotary_factor": 0.5, "tie_word_embeddings": False,
    }
    norm_offset = 0.0
    embedding_scale = 1.0
    branch_gain = 1.0

    @staticmethod
    def weights(random):
        tensors = {"lm_head.weight": random.linear(VOCAB, HIDDEN)}
        for layer in range(LAYERS):
            prefix = f"model.layers.{layer}."
            tensors[prefix + "mlp.gate_up_proj.weight"] = random.linear(2 * MLP, HIDDEN)
            for name, heads in (("q", HEADS), ("k", Glm.kv_heads), ("v", Glm.kv_heads)):
                tensors[f"{prefix}self_attn.{name}_proj.bias"] = random.bias(heads * Glm.head_dim)
        return tensors

    @staticmethod
    def gated(weights, layer, x):
        both = x @ weights[f"model.layers.{layer}.mlp.gate_up_proj.weight"].T
        gate, up = np.split(both, 2, axis=-1)
        return up * gate / (1.0 + np.exp(-gate))

    @staticmethod
    def rotate(x):
        """Value 2i turns with value 2i + 1, in the first half of each head."""
        turning, passing = np.split(x, 2, axis=-1)
        cos, sin = angles(len(x), turning.shape[-1])
        even, odd = turning[..., 0::2], turning[..., 1::2]
        turned = np.stack([even * cos - odd * sin, odd * cos + even * sin], axis=-1)
        return np.concatenate([turned.reshape(turning.shape), passing], axis=-1)


FAMILIES = {"gemma": Gemma, "glm": Glm}


def angles(tokens, rotating):
    """cos and sin [tokens, 1, rotating / 2] of theta 10000."""
    frequencies = 10000.0 ** (-np.arange(0, rotating, 2) / rotating)
    turned = np.outer(np.arange(tokens), frequencies)[:, None, :]
    return np.cos(turned), np.sin(turned)


class Random:
    """Weights with outliers, so that quantization has something to do."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def linear(self, rows, columns, gain=1.0):
        weight = self.generator.normal(0.0, 0.1 * gain, (rows, columns))
        weight[:, self.generator.choice(columns, 2, replace=False)] *= 4.0
        weight[self.generator.integers(rows)] *= 2.5
        return weight.astype(np.float32)

    def bias(self, size):
        return self.generator.normal(0.0, 0.3, size).astype(np.float32)

    def norm(self, offset):
        weight = 1.0 + self.generator.normal(0.0, 0.15, HIDDEN)
        weight[self.generator.choice(HIDDEN, 2, replace=False)] *= 2.0
        return (weight - offset).astype(np.float32)


def make_weights(family, seed):
    random = Random(seed)
    widths = {"q": (HEADS * family.head_dim, HIDDEN), "k": (family.kv_heads * family.head_dim, HIDDEN),
              "v": (family.kv_heads * family.head_dim, HIDDEN),
              "o": (HIDDEN, HEADS * family.head_dim)}
    weights = {"model.embed_tokens.weight": random.linear(VOCAB, HIDDEN),
               "model.norm.weight": random.norm(family.norm_offset)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{prefix}{name}.weight"] = random.norm(family.norm_offset)
        for name, shape in widths.items():
            gain = family.branch_gain if name == "o" else 1.0
            weights[f"{prefix}self_attn.{name}_proj.weight"] = random.linear(*shape, gain)
        weights[prefix + "mlp.down_proj.weight"] = random.linear(HIDDEN, MLP, family.branch_gain)
    return {**weights, **family.weights(random)}


def norm(family, weights, name, x):
    scale = 1.0 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + family.config["rms_norm_eps"])
    return x * scale * (weights[name + ".weight"] + family.norm_offset)


def attend(family, weights, layer, x):
    prefix = f"model.layers.{layer}.self_attn."
    tokens = len(x)

    def project(name, heads):
        out = x @ weights[f"{prefix}{name}_proj.weight"].T
        out = out + weights.get(f"{prefix}{name}_proj.bias", 0.0)
        return out.reshape(tokens, heads, family.head_dim)

    query = family.rotate(project("q", HEADS))
    groups = HEADS // family.kv_heads
    key = np.repeat(family.rotate(project("k", family.kv_heads)), groups, axis=1)
    value = np.repeat(project("v", family.kv_heads), groups, axis=1)
    scores = np.einsum("ihd,jhd->hij", query, key) / math.sqrt(family.head_dim)
    scores = np.where(np.tril(np.ones((tokens, tokens), bool)), scores, -np.inf)
    chances = np.exp(scores - scores.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    heads = np.einsum("hij,jhd->ihd", chances, value).reshape(tokens, -1)
    return heads @ weights[prefix + "o_proj.weight"].T


def forward(family, weights, ids):
    """Every named value of a sequence, as the golden files have them."""
    hidden = weights["model.embed_tokens.weight"][ids] * family.embedding_scale
    values = {"embed": hidden}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        hidden = hidden + attend(family, weights, layer,
                                 norm(family, weights, prefix + "input_layernorm", hidden))
        after = norm(family, weights, prefix + "post_attention_layernorm", hidden)
        hidden = hidden + family.gated(weights, layer, after) @ weights[
            prefix + "mlp.down_proj.weight"].T
        values[f"layer.{layer}"] = hidden
    values["final_norm"] = norm(family, weights, "model.norm", hidden)
    head = weights.get("lm_head.weight", weights["model.embed_tokens.weight"])
    values["logits"] = values["final_norm"] @ head.T
    return values


def golden(family, weights, prompts):
    """The tensors of golden.safetensors; None where a greedy run is dull or close to a tie."""
    weights = {name: weight.astype(np.float64) for name, weight in weights.items()}
    tensors = {}
    for number, prompt in enumerate(prompts):
        ids, rows = list(prompt), []
        for _ in range(GREEDY):
            rows.append(forward(family, weights, ids)["logits"][-1])
            ids.append(int(np.argmax(rows[-1])))
        best = np.sort(np.array(rows), axis=-1)
        margins = best[:, -1] - best[:, -2]
        if len(set(ids[len(prompt):])) < 8 or margins.min() <= 0.02:
            return None
        values = {**forward(family, weights, prompt), "greedy_margin": margins,
                  "greedy_logits": np.array(rows)}
        tensors[f"p{number}.input_ids"] = np.array(prompt, np.int64)
        tensors[f"p{number}.greedy_ids"] = np.array(ids[len(prompt):], np.int64)
        for name, value in values.items():
            tensors[f"p{number}.{name}"] = value.astype(np.float32)
    return tensors


def write_safetensors(path, tensors, metadata):
    header, offset = {"__metadata__": metadata}, 0
    names = {np.dtype(np.float32): "F32", np.dtype(np.int64): "I64"}
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    for name, tensor in ordered:
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + tensor.nbytes]}
        offset += tensor.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text +
                     b"".join(np.ascontiguousarray(tensor).tobytes() for _, tensor in ordered))


def write_folder(name, folder, tokenizer):
    family = FAMILIES[name]
    seed = 0
    while True:
        generator = np.random.default_rng(10_000 + seed)
        prompts = [generator.integers(8, VOCAB, length).tolist() for length in PROMPTS]
        weights = make_weights(family, seed)
        tensors = golden(family, weights, prompts)
        if tensors is not None:
            break
        seed += 1
    folder.mkdir(parents=True, exist_ok=True)
    for file in TOKENIZER_FILES:
        shutil.copyfile(tokenizer / file, folder / file)
    ends = json.loads((tokenizer / "generation_config.json").read_text())
    ends.pop("transformers_version", None)
    config = {**family.config, "vocab_size": VOCAB, "hidden_size": HIDDEN,
              "intermediate_size": MLP, "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_key_value_heads": family.kv_heads,
              "head_dim": family.head_dim, "max_position_embeddings": 2048,
              "rope_theta": 10000.0, "attention_bias": name == "glm", "torch_dtype": "float32",
              **ends}
    for file, content in (("config.json", config), ("generation_config.json", ends)):
        (folder / file).write_text(json.dumps(content, indent=2) + "\n")
    write_safetensors(folder / "model.safetensors", weights, {"format": "pt"})
    write_safetensors(folder / "golden.safetensors", tensors,
                      {"made_with": f"tests/tools/write_tiny_family.py {name}, seed {seed}, float64"})
    print(f"{folder}: seed {seed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True,
                        help="folder of a model whose tokenizer is taken")
    options = parser.parse_args()
    write_folder(options.family, options.folder, options.tokenizer)


if __name__ == "__main__":
    main()
