#include "executors/ort/onnx_operators.h"

#include <gtest/gtest.h>

#include "executors/ort/onnx_text.h"
#include "support/expect_error.h"

namespace lathe {
namespace {

using testing::expect_error;
using testing::onnx_text;

TEST(OnnxOperators, AProductHasItsWeightsPerChannel) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 8, 1, 2]<0.001, 32768>
    const %w : i8[4, 8, 1, 1]<per channel 0>
    const %b : i32[4]<per channel 0>
    %y = aten.conv2d(%x, %w, %b) : u16[1, 4, 1, 2]<0.002, 30000> @ model.layers.0.mlp.up_proj
    output up = %y)"),
            "up<0.002 30000> = Conv(x<0.001 32768>, w<scales 4 {axis=0}>, b<scales 4 {axis=0}>) "
            "@ model.layers.0.mlp.up_proj/y\n");
}

TEST(OnnxOperators, BlocksHaveAScaleEach) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 32, 1, 1]<0.001, 32768>
    const %w : i4[4, 32, 1, 1]<per channel 0, blocks of 16>
    %y = aten.conv2d(%x, %w) : u16[1, 4, 1, 1]<0.002, 30000>
    output y = %y)"),
            "y<0.002 30000> = Conv(x<0.001 32768>, w<scales 4 2 1 1 {axis=1, block_size=16}>) "
            "@ y\n");
}

TEST(OnnxOperators, LinearIsAConvolutionOfRows) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=3 cl=3
    input %x : u16[1, 3, 8]<0.001, 32768>
    const %w : i8[4, 8]<per channel 0>
    %y = aten.linear(%x, %w) : u16[1, 3, 4]<0.002, 30000>
    output y = %y)"),
            "y/rows<0.001 32768> = Reshape(x<0.001 32768>, [3, 8, 1, 1]) @ y/rows\n"
            "y/product<0.002 30000> = Conv(y/rows<0.001 32768>, w<scales 4 {axis=0}>) "
            "@ y/product\n"
            "y<0.002 30000> = Reshape(y/product<0.002 30000>, [1, 3, 4]) @ y\n");
}

TEST(OnnxOperators, HadamardIsAConvolutionWithItsMatrix) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=2 cl=2
    input %x : u16[1, 3, 2, 4]<0.001, 32768>
    %y = lathe.hadamard(%x) : u16[1, 3, 2, 4]<0.002, 30000>
    output y = %y)"),
            "y/rows<0.001 32768> = Reshape(x<0.001 32768>, [1, 1, 6, 4]) @ y/rows\n"
            "y/channels<0.001 32768> = Transpose(y/rows<0.001 32768>) {perm=[0, 3, 1, 2]} "
            "@ y/channels\n"
            "y/product<0.002 30000> = Conv(y/channels<0.001 32768>, "
            "hadamard 4<0.003937008 0>) @ y/product\n"
            "y/turned<0.002 30000> = Transpose(y/product<0.002 30000>) {perm=[0, 2, 3, 1]} "
            "@ y/turned\n"
            "y<0.002 30000> = Reshape(y/turned<0.002 30000>, [1, 3, 2, 4]) @ y\n");
}

TEST(OnnxOperators, AttentionOfOneHead) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=3
    input %q : u16[1, 1, 1, 4]<0.001, 32768>
    input %k : u8[1, 1, 4, 3]<0.1, 128>
    input %attention_mask : u16[1, 1, 1, 3]<0.5, 65535>
    %scores = aten.matmul(%q, %k) : u16[1, 1, 1, 3]<0.01, 32768>
    %scaled = aten.mul(%scores) {other=0.5} : u16[1, 1, 1, 3]<0.005, 32768>
    %masked = aten.add(%scaled, %attention_mask) : u16[1, 1, 1, 3]<0.006, 60000>
    %p = aten.softmax(%masked) {dim=-1} : u16[1, 1, 1, 3]
    output p = %p)"),
            "scores<0.01 32768> = MatMul(q<0.001 32768>, k<0.1 128>) @ scores\n"
            "scaled<0.005 32768> = Mul(scores<0.01 32768>, u16 0.5<7.629511e-06 0>) @ scaled\n"
            "masked<0.006 60000> = Add(scaled<0.005 32768>, attention_mask<0.5 65535>) @ masked\n"
            "p<1.5258789e-05 0> = Softmax(masked<0.006 60000>) {axis=-1} @ p\n");
}

// Scores reach from -10 to 10, so masked ones are put to -30, wherever the mask would have put
// them.
TEST(OnnxOperators, MaskedSoftmaxClampsTheSumWithTheMask) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=3
    input %scores : u16[1, 1, 1, 3]<0.00030518044, 32768>
    input %attention_mask : u16[1, 1, 1, 3]<0.5, 65535>
    %p = lathe.masked_softmax(%scores, %attention_mask) {dim=-1, below=20} : u16[1, 1, 1, 3]
    output p = %p)"),
            "p/masked<0.0006103609 49152> = Add(scores<0.00030518044 32768>, "
            "attention_mask<0.5 65535>) @ p/masked\n"
            "p<1.5258789e-05 0> = Softmax(p/masked<0.0006103609 49152>) {axis=-1} @ p\n");
}

TEST(OnnxOperators, Norms) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 1, 4]<0.001, 32768>
    const %w : u16[4]<0.0001, 0>
    %y = lathe.rms_norm(%x, %w) {eps=1e-05} : u16[1, 1, 4]<0.002, 30000>
    output y = %y)"),
            "y<0.002 30000> = RMSNormalization(x<0.001 32768>, w<0.0001 0>) "
            "{axis=-1, epsilon=1e-05} @ y\n");
}

TEST(OnnxOperators, MovementsKeepTheEncoding) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=1
    input %ids : i32[1, 1]
    const %table : u16[16, 8]<0.001, 32768>
    %rows = aten.embedding(%table, %ids) : u16[1, 1, 8]
    %heads = aten.reshape(%rows) {sizes=[1, 1, 2, 4]} : u16[1, 1, 2, 4]
    %turned = aten.transpose(%heads) {dim0=1, dim1=2} : u16[1, 2, 1, 4]
    %low = aten.slice(%turned) {dim=3, start=0, end=2} : u16[1, 2, 1, 2]
    %joined = aten.cat(%low, %turned) {dim=-1} : u16[1, 2, 1, 6]
    %last = aten.select(%joined) {dim=1, index=1} : u16[1, 1, 6]
    output y = %last)"),
            "rows<0.001 32768> = Gather(table<0.001 32768>, ids) {axis=0} @ rows\n"
            "heads<0.001 32768> = Reshape(rows<0.001 32768>, [1, 1, 2, 4]) @ heads\n"
            "turned<0.001 32768> = Transpose(heads<0.001 32768>) {perm=[0, 2, 1, 3]} @ turned\n"
            "low<0.001 32768> = Slice(turned<0.001 32768>, [0], [2], [3]) @ low\n"
            "joined<0.001 32768> = Concat(low<0.001 32768>, turned<0.001 32768>) {axis=3} "
            "@ joined\n"
            "y/slice<0.001 32768> = Slice(joined<0.001 32768>, [1], [2], [1]) @ y/slice\n"
            "y<0.001 32768> = Reshape(y/slice<0.001 32768>, [1, 1, 6]) @ last\n");
}

TEST(OnnxOperators, RequantizeOnlyChangesTheEncoding) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4]<0.001, 32768>
    %y = lathe.requantize(%x) : u8[1, 4]<0.25, 128>
    output y = %y)"),
            "y<0.25 128> = x<0.001 32768>\n");
}

TEST(OnnxOperators, IntegersAreNotQuantized) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=4
    input %cache_position : i64[1]
    %all = aten.arange() {end=3} : i64[3]
    %shifted = aten.add(%all) {other=1} : i64[3]
    %rows = aten.unsqueeze(%shifted) {dim=0} : i64[1, 3]
    %le = aten.le(%rows, %cache_position) : bool[1, 3]
    output y = %le)"),
            "shifted = Add([0, 1, 2], i64 1) @ shifted\n"
            "rows = Reshape(shifted, [1, 3]) @ rows\n"
            "y = LessOrEqual(rows, cache_position) @ le\n");
}

TEST(OnnxOperators, WholeCachesAreScattered) {
  EXPECT_EQ(onnx_text(R"(
    graph decode ar=1 cl=4
    input %keys : u16[1, 2, 4, 3]<0.001, 32768>
    input %place : i64[1]
    input %new : u16[1, 2, 1, 3]<0.001, 32768>
    %y = aten.index_copy_(%keys, %place, %new) {dim=2} : u16[1, 2, 4, 3]<0.001, 32768>
    output y = %y)"),
            "y/index = Reshape(place, [1, 1, 1, 1]) @ y/index\n"
            "y/indices = Expand(y/index, [1, 2, 1, 3]) @ y/indices\n"
            "y<0.001 32768> = ScatterElements(keys<0.001 32768>, y/indices, new<0.001 32768>) "
            "{axis=2} @ y\n");
}

TEST(OnnxOperators, SayWhatHasNoForm) {
  expect_error(
      [] {
        onnx_text(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4]<0.001, 32768>
    %y = aten.silu(%x) : u16[1, 4]<0.001, 500> @ model.layers.0.mlp.act_fn
    output y = %y)");
      },
      {"model.layers.0.mlp.act_fn/y", "aten.silu"});
  expect_error(
      [] {
        onnx_text(R"(
    graph decode ar=1 cl=1
    input %x : u16[1, 4, 1, 1]<0.001, 32768>
    input %w : i8[4, 4, 1, 1]<0.001, 0>
    %y = aten.conv2d(%x, %w) : u16[1, 4, 1, 1]<0.001, 500>
    output y = %y)");
      },
      {"y", "product with w"});
}

}  // namespace
}  // namespace lathe
