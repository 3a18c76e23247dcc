"""OpenVINO GenAI on the CPU: openvino_genai_worker.py MODEL.gguf THREADS"""

import sys

import numpy
import openvino
import openvino_genai
from serve import serve

pipeline = openvino_genai.LLMPipeline(sys.argv[1], "CPU", INFERENCE_NUM_THREADS=int(sys.argv[2]))


def seconds(ids, generate):
    tokens = numpy.array([ids], dtype=numpy.int64)
    inputs = openvino_genai.TokenizedInputs(openvino.Tensor(tokens),
                                            openvino.Tensor(numpy.ones_like(tokens)))
    config = openvino_genai.GenerationConfig(max_new_tokens=generate, ignore_eos=True,
                                             do_sample=False)
    metrics = pipeline.generate(inputs, config).perf_metrics
    return metrics.get_ttft().mean / 1000, metrics.get_tpot().mean / 1000


serve(seconds)
