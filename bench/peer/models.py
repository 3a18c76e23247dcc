"""What is measured: three models, each in two formats."""

import dataclasses

from peer import gguf
from peer.machine import BUILD, ROOT, WORK, Failed, newer, run_logged

SMOLLM2 = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
RANDOM_CHECKPOINT = BUILD / "tests" / "tools" / "random_checkpoint"
CONTEXT = 1024
PROMPTS = (32, 128, 512)
DEPTHS = (0, 256, 900)


@dataclasses.dataclass(frozen=True)
class Format:
    """Weights of about the same width on both sides. Either has 8 bits in the output layer, or 6."""

    name: str
    gguf: str  # of llama-quantize
    recipe: str  # of lathe compile
    label: str  # of what the recipe makes


FORMATS = (
    Format("8 bits", "Q8_0", "default-16a8w", "16a8w + KV8"),
    Format("4 bits", "Q4_0", "default-16a4w_block", "16a4w_block 32 + KV8"),
)


@dataclasses.dataclass(frozen=True)
class Measure:
    """A prompt to read, or tokens to generate behind a depth of cache."""

    prompt: int
    depth: int
    generate: int

    @property
    def name(self):
        return f"prompt {self.prompt}" if self.prompt else f"decode at depth {self.depth}"


@dataclasses.dataclass(frozen=True)
class Model:
    key: str  # what --models takes, and the beginning of file names
    name: str
    weights: int  # how many; an embedding that is the output layer too is counted once
    generate: int  # tokens of one measurement
    shape: tuple = ()  # of random_checkpoint; empty: SmolLM2

    def measures(self):
        return [*(Measure(prompt, 0, 0) for prompt in PROMPTS),
                *(Measure(0, depth, self.generate) for depth in DEPTHS)]

    def checkpoint(self):
        """What Lathe compiles: SmolLM2's file, or a folder of random weights."""
        if not self.shape:
            if not SMOLLM2.exists():
                raise Failed(f"{SMOLLM2} is missing; scripts/get-smollm2 fetches it")
            return SMOLLM2
        folder = WORK / self.key
        if not (folder / "model.safetensors").exists():
            run_logged([RANDOM_CHECKPOINT, *self.shape, folder], WORK / "checkpoint.log")
        return folder

    def weights_file(self):
        """The file of the checkpoint that holds the weights."""
        source = self.checkpoint()
        return source / "model.safetensors" if self.shape else source

    def gguf_file(self, form):
        return WORK / f"{self.key}.{form.gguf}.gguf"

    def make_ggufs(self, llama_quantize):
        """The checkpoint's weights in each format, as llama.cpp quantizes them."""
        source = self.weights_file()
        missing = [form for form in FORMATS if not newer(self.gguf_file(form), source)]
        if not missing:
            return
        whole = source
        if self.shape:
            whole = WORK / f"{self.key}.BF16.gguf"
            gguf.write(self.checkpoint(), whole)
        for form in missing:
            run_logged([llama_quantize, "--allow-requantize", whole, self.gguf_file(form),
                        form.gguf], WORK / "quantize.log")
        if self.shape:
            whole.unlink()


MODELS = (
    Model("smollm2-135m", "SmolLM2-135M-Instruct", 134_515_008, 64),
    Model("qwen2.5-0.5b", "random weights in the shape of Qwen2.5 0.5B, as a Llama", 494_005_120, 32,
          ("--hidden", "896", "--layers", "24", "--heads", "14", "--kv-heads", "2", "--head-dim",
           "64", "--mlp", "4864", "--vocab", "151936", "--positions", "32768", "--theta",
           "1000000")),
    Model("llama3.2-1b", "random weights in the shape of Llama 3.2 1B", 1_235_814_400, 16,
          ("--like", "llama3_2-1b")),
)
