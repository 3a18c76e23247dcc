"""Makes the ONNX files of this folder, with the onnx package (1.23). Golden values in the tests
come from running them with the onnxruntime package (1.32.0)."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def quantize(name, source, encoding):
    inputs = [source, f"{encoding}.scale", f"{encoding}.zero"]
    return helper.make_node("QuantizeLinear", inputs, [name], name=name)


def dequantize(name, source, encoding):
    inputs = [source, f"{encoding}.scale", f"{encoding}.zero"]
    return helper.make_node("DequantizeLinear", inputs, [name], name=name)


def save(file, columns, activation):
    """y = activation(w x) in u16 codes, and k = x in u8 codes; columns of 8."""
    weight = (numpy.arange(64).reshape(8, 8, 1, 1) * 37 % 255 - 127).astype(numpy.int8)
    constants = [
        numpy_helper.from_array(weight, "weight"),
        numpy_helper.from_array(numpy.float32(1 / 128), "i8.scale"),
        numpy_helper.from_array(numpy.int8(0), "i8.zero"),
        numpy_helper.from_array(numpy.float32(1 / 4096), "u16.scale"),
        numpy_helper.from_array(numpy.uint16(32768), "u16.zero"),
        # The only encoding that the HTP has for the output of a sigmoid.
        numpy_helper.from_array(numpy.float32(1 / 65536), "sigmoid.scale"),
        numpy_helper.from_array(numpy.uint16(0), "sigmoid.zero"),
        numpy_helper.from_array(numpy.float32(1 / 16), "u8.scale"),
        numpy_helper.from_array(numpy.uint8(128), "u8.zero"),
    ]
    nodes = [
        dequantize("x.f", "x", "u16"),
        dequantize("weight.f", "weight", "i8"),
        helper.make_node("Conv", ["x.f", "weight.f"], ["product"], name="layers.0.product"),
        quantize("product.q", "product", "u16"),
        dequantize("product.f", "product.q", "u16"),
        helper.make_node(activation, ["product.f"], ["active"], name="layers.0.activation"),
        quantize("y", "active", "sigmoid"),
        quantize("k", "x.f", "u8"),
    ]
    shape = [1, 8, 1, columns]
    graph = helper.make_graph(
        nodes, "columns", [helper.make_tensor_value_info("x", TensorProto.UINT16, shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT16, shape),
         helper.make_tensor_value_info("k", TensorProto.UINT8, shape)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, file)


save("decode.onnx", 1, "Sigmoid")
save("prefill.onnx", 4, "Sigmoid")
save("rejected.onnx", 1, "Acosh")  # the HTP has no such operator
