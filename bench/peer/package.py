"""A peer that is a Python package: installed into a folder of its own, and run as a worker that keeps
its model open. The worker reads measures from standard input and answers with speeds, a line of JSON
each; between two of them it waits."""

import json
import os
import pathlib
import subprocess
import sys

from peer.machine import WORK, Failed, run_logged, say


def install(*requirements):
    """Returns the folder to import them from."""
    folder = WORK / "-".join(requirement.replace("==", "-") for requirement in requirements)
    if not folder.exists():
        say(f"fetching {', '.join(requirements)}")
        partial = folder.with_suffix(".partial")
        run_logged([sys.executable, "-m", "pip", "install", "--only-binary", ":all:", "--upgrade",
                    "--target", partial, *requirements], WORK / "pip.log")
        partial.rename(folder)
    return folder


class Worker:
    """A process of workers/`script`."""

    def __init__(self, script, packages, arguments):
        self.script = script
        path = pathlib.Path(__file__).parent / "workers" / script
        self.log = open(WORK / f"{path.stem}.log", "ab")
        self.process = subprocess.Popen(
            [sys.executable, path, *map(str, arguments)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={**os.environ, "PYTHONPATH": str(packages)})

    def ask(self, measure):
        try:
            self.process.stdin.write(json.dumps(measure) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, json.JSONDecodeError) as error:
            raise Failed(f"{self.script} gave no answer; see {self.log.name}") from error

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()
