"""OpenVINO GenAI: a package from PyPI, which reads the GGUF files of llama.cpp."""

from peer.package import Worker, install

PACKAGE = "openvino-genai"
VERSION = "2026.4.1.0"


class OpenVino:
    name = "OpenVINO GenAI"
    version = VERSION
    notes = []

    def __init__(self, threads):
        self.threads = threads
        self.packages = install(f"{PACKAGE}=={VERSION}")

    def label(self, form):
        return f"OpenVINO GenAI, the same {form.gguf}"

    def file(self, model, form):
        return model.gguf_file(form)

    def prepare(self, model, form):
        """Nothing of its own: llama.cpp has made the file."""

    def open(self, model, form):
        self.worker = Worker("openvino_genai_worker.py", self.packages,
                             [self.file(model, form), self.threads])

    def speed(self, measure):
        return self.worker.ask(vars(measure))["tokens_per_s"]

    def close(self):
        self.worker.close()
