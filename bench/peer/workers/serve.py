"""The loop of a worker: see ../package.py."""

import json
import random
import sys


def scattered_ids(random_numbers, count):
    """Ids without a pattern, which every model here has. None come twice: a program may remember what
    it made of a prompt before."""
    return [random_numbers.randrange(10, 1500) for _ in range(count)]


def serve(seconds):
    """`seconds(ids, generate)` reads a prompt and generates, and gives how long the first token took,
    and each of the others on average."""
    seen = set()
    random_numbers = random.Random(1)
    for line in sys.stdin:
        measure = json.loads(line)
        prompt, depth, generate = measure["prompt"], measure["depth"], measure["generate"]

        def once():
            if prompt:
                return prompt / seconds(scattered_ids(random_numbers, prompt), 1)[0]
            # The first token belongs to the prompt. There is no empty one.
            return 1 / seconds(scattered_ids(random_numbers, max(depth, 1)), generate + 1)[1]

        if line not in seen:
            once()
            seen.add(line)
        print(json.dumps({"tokens_per_s": once()}), flush=True)
