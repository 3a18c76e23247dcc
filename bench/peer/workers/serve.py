"""The loop of a worker: see ../package.py."""

import json
import random
import sys


def scattered_ids(count):
    """Ids without a pattern, which every model here has."""
    return [random.Random(count * 1000 + i).randrange(10, 1500) for i in range(count)]


def serve(seconds):
    """`seconds(ids, generate)` reads a prompt and generates, and gives how long the first token took,
    and each of the others on average."""
    seen = set()
    for line in sys.stdin:
        measure = json.loads(line)
        prompt, depth, generate = measure["prompt"], measure["depth"], measure["generate"]

        def once():
            if prompt:
                return prompt / seconds(scattered_ids(prompt), 1)[0]
            # The first token belongs to the prompt. There is no empty one.
            return 1 / seconds(scattered_ids(max(depth, 1)), generate + 1)[1]

        if line not in seen:
            once()
            seen.add(line)
        print(json.dumps({"tokens_per_s": once()}), flush=True)
