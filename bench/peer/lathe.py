"""Lathe itself, and what this machine would let it do at most."""

import subprocess

from peer.machine import BUILD, ROOT, WORK, newer, run_json, run_logged, say
from peer.models import CONTEXT, DEPTHS, PROMPTS

LATHE = BUILD / "lathe"
ROOFLINE = BUILD / "bench" / "roofline"
TARGETS = ("lathe", "random_checkpoint", "roofline")


def build(jobs):
    """The programs of ours that a measurement needs."""
    if not (BUILD / "build.ninja").exists():
        run_logged(["cmake", "-S", ROOT, "--preset", "release"], WORK / "build.log")
    say(f"building {', '.join(TARGETS)}, where they are not")
    run_logged(["cmake", "--build", BUILD, "--parallel", str(jobs), "--target", *TARGETS],
               WORK / "build.log")


def version():
    """The program's version, and the commit that is checked out."""
    said = subprocess.run([LATHE, "--version"], capture_output=True, text=True, check=True)
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                            capture_output=True, text=True)
    return f"{said.stdout.split()[-1]} {commit.stdout.strip()}".strip()


def limits(models, threads):
    """What `roofline` says of the machine and of each (model, format): {limits, isa, models}."""
    return run_json([ROOFLINE, "--json", "--no-speeds", "--threads", threads, "-p",
                     ",".join(map(str, PROMPTS)), "-d", ",".join(map(str, DEPTHS)), *models])


def read_rate(threads):
    """Bytes a second that all threads read of memory just now."""
    return run_json([ROOFLINE, "--json", "--read", "1", "--threads", threads])["read_bytes_per_s"]


class Lathe:
    name = "Lathe"

    def __init__(self, threads):
        self.threads = threads
        self.version = version()

    def label(self, form):
        return f"Lathe {form.label}"

    def file(self, model, form):
        return WORK / f"{model.key}.{form.recipe}.lathe"

    def prepare(self, model, form):
        target = self.file(model, form)
        if newer(target, model.weights_file(), LATHE):
            return
        say(f"compiling {target.name}")
        run_logged([LATHE, "compile", model.checkpoint(), "-o", target, "--recipe", form.recipe,
                    "--context", str(CONTEXT)], WORK / "compile.log")

    def open(self, model, form):
        self.artifact = self.file(model, form)

    def speed(self, measure):
        answer = run_json([LATHE, "bench", self.artifact, "--json", "--threads", self.threads,
                           "-r", "1", "-p", measure.prompt, "-n", measure.generate, "-d",
                           measure.depth])
        kind = "prefill" if measure.prompt else "decode"
        return answer["results"][0][f"{kind}_tokens_per_s"]["median"]

    def close(self):
        pass
