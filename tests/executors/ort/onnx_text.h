#pragma once

#include <filesystem>
#include <string>

#include "executors/ort/onnx.pb.h"
#include "executors/ort/onnx_writer.h"

namespace lathe::testing {

onnx::ModelProto read_onnx(const std::filesystem::path& file);

/// The nodes of an ONNX file, one a line, with the quantization of an operator beside its operands:
///   y<0.002 32768> = Conv(x<0.001 32768>, w<per channel>) {group=1} @ q_proj/y
/// stands for the DequantizeLinear of x and of w, Conv and QuantizeLinear. Without an operator: a
/// DequantizeLinear and a QuantizeLinear alone.
std::string onnx_text(const onnx::ModelProto& model);

/// onnx_text of a graph that is written to an ONNX file, its constants filled with codes.
std::string onnx_text(const char* graph_text);

}  // namespace lathe::testing
