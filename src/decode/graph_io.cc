#include "decode/graph_io.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "support/error.h"

namespace lathe {
namespace {

/// Far above any model's; keeps every product of sizes below within 64 bits.
constexpr int64_t kMaxContext = int64_t{1} << 24;
/// Token ids travel as i32.
constexpr int64_t kMaxVocab = std::numeric_limits<int32_t>::max();

class Reader {
 public:
  explicit Reader(const IoContract& contract)
      : contract_(contract), graph_(std::string(name_of(contract.role)) + " graph") {}

  GraphIo read() {
    GraphIo io;
    io.tokens_per_call = contract_.tokens_per_call;
    io.context = contract_.context;
    io.window = contract_.window;
    const int64_t tokens = io.tokens_per_call;
    if (tokens < 1 || tokens > io.context || io.context > kMaxContext) {
      fail({.what = "tokens per call and context do not fit",
            .where = graph_,
            .expected = "1 <= tokens per call <= context <= " + std::to_string(kMaxContext),
            .found = std::to_string(tokens) + " and " + std::to_string(io.context)});
    }
    if (io.window < 0 || io.window >= io.context) {
      fail({.what = "window is out of range",
            .where = graph_,
            .expected = "0 to " + std::to_string(io.context - 1),
            .found = std::to_string(io.window)});
    }
    const IoTensor& logits = output("logits");
    io.vocab = logits.shape.empty() ? 0 : logits.shape.back();
    if (io.vocab < 1 || io.vocab > kMaxVocab) reject_shape(logits, {1, tokens, kMaxVocab});
    check_shape(logits, {1, tokens, io.vocab});
    io.logits = format_of(logits);

    if (contract_.find_input("input_ids") == nullptr) {
      read_pairs(io);
    } else {
      read_whole_caches(io);
    }
    reject_unknown(contract_.inputs, "input");
    reject_unknown(contract_.outputs, "output");
    return io;
  }

 private:
  void read_pairs(GraphIo& io) {
    const int64_t tokens = io.tokens_per_call;
    io.cache_style = CacheStyle::pairs;
    io.ids = token_input("tokens", DType::i32, {1, tokens});
    io.positions = token_input("position", DType::i32, {1, tokens});

    if (io.window == 0 || contract_.find_input("attention_mask") != nullptr) {
      io.mask = read_mask("attention_mask", {1, 1, tokens, io.context});
    }
    if (io.window > 0) {
      io.window_mask =
          read_mask("window_attention_mask", {1, 1, tokens, io.window_slots() + tokens});
    }

    io.has_cache_inputs = io.cache_slots() > 0 || contract_.find_input("k_cache_0") != nullptr;
    while (contract_.find_output("k_new_" + std::to_string(io.layers.size())) != nullptr) {
      io.layers.push_back(read_pair(io, std::to_string(io.layers.size())));
    }
    if (io.layers.empty()) missing("output", "k_new_0");
  }

  void read_whole_caches(GraphIo& io) {
    const int64_t tokens = io.tokens_per_call;
    io.cache_style = CacheStyle::whole;
    io.ids = token_input("input_ids", DType::i64, {1, tokens});
    io.positions = token_input("cache_position", DType::i64, {tokens});
    while (contract_.find_output(whole_cache_output(io.layers.size()) + ".keys") != nullptr) {
      const size_t layer = io.layers.size();
      io.layers.push_back({read_whole(io, layer, ".keys"), read_whole(io, layer, ".values")});
    }
    if (io.layers.empty()) missing("output", whole_cache_output(0) + ".keys");
  }

  ValueFormat read_mask(const std::string& name, const Shape& shape) {
    const IoTensor& mask = input(name);
    check_shape(mask, shape);
    return format_of(mask);
  }

  CacheFormat read_whole(const GraphIo& io, size_t layer, const std::string& kind) {
    const IoTensor& returned = output(whole_cache_output(layer) + kind);
    CacheFormat format = read_cache(returned);
    format.head_dim = returned.shape[3];
    const Shape shape{1, format.heads, io.context, format.head_dim};
    check_shape(returned, shape);
    check_fed(whole_cache_input(layer) + kind, returned, shape);
    return format;
  }

  LayerFormat read_pair(GraphIo& io, const std::string& layer) {
    LayerFormat format;
    const int64_t tokens = io.tokens_per_call;

    const IoTensor& key = output("k_new_" + layer);
    format.key = read_cache(key);
    format.key.head_dim = key.shape[2];
    check_shape(key, {1, format.key.heads, format.key.head_dim, tokens});

    const IoTensor& value = output("v_new_" + layer);
    format.value = read_cache(value);
    format.value.head_dim = value.shape[3];
    check_shape(value, {1, format.value.heads, tokens, format.value.head_dim});

    io.slots.push_back(io.has_cache_inputs ? slots_of(io, "k_cache_" + layer) : 0);
    if (io.has_cache_inputs) {
      const int64_t slots = io.slots.back();
      check_fed("k_cache_" + layer, key, {1, format.key.heads, format.key.head_dim, slots});
      check_fed("v_cache_" + layer, value, {1, format.value.heads, slots, format.value.head_dim});
    }
    return format;
  }

  /// Slots of a cache of keys: those of a sliding layer where it has as many, else of any other.
  int64_t slots_of(const GraphIo& io, const std::string& name) {
    const IoTensor& keys = input(name);
    const bool slides =
        io.window > 0 && keys.shape.size() == 4 && keys.shape[3] == io.window_slots();
    return slides ? io.window_slots() : io.cache_slots();
  }

  CacheFormat read_cache(const IoTensor& tensor) const {
    if (tensor.shape.size() != 4 || checked_elements(tensor.shape) < 1) {
      fail({.what = "output has the wrong shape",
            .where = place(tensor.name),
            .expected = "four dimensions, none of them 0",
            .found = to_string(tensor.shape)});
    }
    return {.heads = tensor.shape[1], .format = format_of(tensor)};
  }

  /// Checks a cache input against the output that feeds it.
  void check_fed(const std::string& name, const IoTensor& source, const Shape& shape) {
    const IoTensor& cache = input(name);
    check_shape(cache, shape);
    if (format_of(cache) != format_of(source)) {
      fail({.what = "cache is not encoded as the output that feeds it",
            .where = place(name),
            .expected = describe(source),
            .found = describe(cache),
            .advice = "compile the model again"});
    }
  }

  ValueFormat format_of(const IoTensor& tensor) const {
    if (tensor.dtype == DType::f32) return {};
    if (tensor.dtype != DType::u8 && tensor.dtype != DType::u16) {
      fail({.what = "type is not one the runner handles",
            .where = place(tensor.name),
            .expected = "u8, u16 or f32",
            .found = std::string(name_of(tensor.dtype))});
    }
    const CodeRange range = code_range(tensor.dtype);
    const auto& encoding = tensor.encoding;
    if (!encoding || encoding->dtype != tensor.dtype || encoding->per_channel() ||
        encoding->scale.size() != 1 || !std::isfinite(encoding->scale[0]) ||
        encoding->scale[0] <= 0.0f || encoding->zero_point < range.low ||
        encoding->zero_point > range.high) {
      fail({.what = "encoding is not usable",
            .where = place(tensor.name),
            .expected =
                "one positive scale and a zero point within " + std::string(name_of(tensor.dtype)),
            .found = describe(tensor)});
    }
    return {tensor.dtype, encoding->scale[0], encoding->zero_point};
  }

  static std::string describe(const IoTensor& tensor) {
    std::string type(name_of(tensor.dtype));
    if (!tensor.encoding || tensor.encoding->scale.empty()) return type + " without encoding";
    return type + " with " + to_string(*tensor.encoding);
  }

  TokenInput token_input(const std::string& name, DType dtype, const Shape& shape) {
    check(input(name), shape, dtype);
    return {name, dtype, shape};
  }

  const IoTensor& input(const std::string& name) {
    const IoTensor* tensor = contract_.find_input(name);
    if (tensor == nullptr) missing("input", name);
    known_.push_back(name);
    return *tensor;
  }

  const IoTensor& output(const std::string& name) {
    const IoTensor* tensor = contract_.find_output(name);
    if (tensor == nullptr) missing("output", name);
    known_.push_back(name);
    return *tensor;
  }

  void check(const IoTensor& tensor, const Shape& shape, DType dtype) const {
    if (tensor.dtype != dtype) {
      fail({.what = "wrong type",
            .where = place(tensor.name),
            .expected = std::string(name_of(dtype)),
            .found = std::string(name_of(tensor.dtype))});
    }
    check_shape(tensor, shape);
  }

  void check_shape(const IoTensor& tensor, const Shape& shape) const {
    if (tensor.shape != shape || checked_elements(shape) < 0) reject_shape(tensor, shape);
  }

  [[noreturn]] void reject_shape(const IoTensor& tensor, const Shape& expected) const {
    fail({.what = "wrong shape",
          .where = place(tensor.name),
          .expected = to_string(expected),
          .found = to_string(tensor.shape)});
  }

  [[noreturn]] void missing(const std::string& kind, const std::string& name) const {
    fail({.what = kind + " is missing", .where = place(name), .advice = "compile the model again"});
  }

  void reject_unknown(const std::vector<IoTensor>& tensors, const std::string& kind) const {
    for (const IoTensor& tensor : tensors) {
      if (std::find(known_.begin(), known_.end(), tensor.name) == known_.end()) {
        fail({.what = kind + " is not one the runner knows", .where = place(tensor.name)});
      }
    }
  }

  std::string place(std::string_view tensor) const { return graph_ + ": " + printable(tensor, 40); }

  const IoContract& contract_;
  std::string graph_;
  std::vector<std::string> known_;
};

void check_equal(bool equal, const std::string& what) {
  if (equal) return;
  fail({.what = "decode and prefill graph differ in " + what, .advice = "compile the model again"});
}

}  // namespace

std::string whole_cache_input(size_t layer) { return "static_cache." + whole_cache_output(layer); }
std::string whole_cache_output(size_t layer) { return "layers." + std::to_string(layer); }

GraphIo read_graph_io(const IoContract& contract) { return Reader(contract).read(); }

void check_same_model(const GraphIo& decode, const GraphIo& prefill) {
  const auto both = [](int64_t a, int64_t b) {
    return " (" + std::to_string(a) + " and " + std::to_string(b) + ")";
  };
  check_equal(decode.cache_style == prefill.cache_style, "the style of their caches");
  check_equal(decode.context == prefill.context, "context" + both(decode.context, prefill.context));
  check_equal(decode.window == prefill.window, "window" + both(decode.window, prefill.window));
  check_equal(decode.vocab == prefill.vocab, "vocabulary" + both(decode.vocab, prefill.vocab));
  const auto layers = static_cast<int64_t>(decode.layers.size());
  const auto prefill_layers = static_cast<int64_t>(prefill.layers.size());
  check_equal(layers == prefill_layers, "layers" + both(layers, prefill_layers));
  for (size_t i = 0; i < decode.layers.size(); ++i) {
    check_equal(decode.layers[i] == prefill.layers[i],
                "shape or encoding of the cache of layer " + std::to_string(i));
    if (!decode.has_cache_inputs || !prefill.has_cache_inputs || decode.slots.empty()) continue;
    const bool slides = decode.window > 0 && decode.slots[i] == decode.window_slots();
    const int64_t slots = slides ? prefill.window_slots() : prefill.cache_slots();
    check_equal(prefill.slots[i] == slots,
                "the window of layer " + std::to_string(i) + both(slots, prefill.slots[i]));
  }
  check_equal(decode.logits == prefill.logits, "encoding of the logits");
  check_equal(decode.mask == prefill.mask, "encoding of the attention mask");
  check_equal(decode.window_mask == prefill.window_mask, "encoding of the window's mask");
}

}  // namespace lathe
