// What the static frontend builds, as text and property by property. Its numbers are compared with
// Hugging Face's in tests/api/static_graph_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/frontend.h"
#include "frontend/rope.h"
#include "graph/constant_floats.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "support/test_files.h"
#include "tools/random_weights.h"

namespace lathe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// One layer, hidden size 8, two heads of 4 over one key-value head, MLP 12, vocabulary 16; fields
/// of its config.json may be changed.
std::shared_ptr<const Checkpoint> checkpoint(const nlohmann::json& changes = {}) {
  nlohmann::json config = testing::model_shape("smallest");
  config.update({{"hidden_size", 8},
                 {"num_attention_heads", 2},
                 {"num_key_value_heads", 1},
                 {"head_dim", 4},
                 {"intermediate_size", 12},
                 {"vocab_size", 16}});
  if (!changes.is_null()) config.update(changes);
  const testing::TestFolder folder;
  testing::write_random_checkpoint(folder.path(), config, 0);
  return Checkpoint::open(folder.path());
}

/// Two tokens a call, eight in all.
Graph build(const std::shared_ptr<const Checkpoint>& source, const StaticForm& form = {}) {
  Graph graph = build_static_graph(source, {GraphRole::prefill, 2, 8}, form);
  verify(graph);
  return graph;
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The nodes of layer 0, with shorter names.
std::string layer_text(const Graph& graph) {
  const std::string layer = "model.layers.0";
  std::istringstream lines(print_graph(graph));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("@ " + layer) != std::string::npos) text += line + "\n";
  }
  text = replace_all(text, layer + ".", "");
  text = replace_all(text, "post_attention_layernorm", "post_norm");
  text = replace_all(text, "input_layernorm", "input_norm");
  return replace_all(replace_all(text, "aten.", ""), "lathe.", "");
}

TEST(StaticForm, ALayer) {
  EXPECT_EQ(
      layer_text(build(checkpoint())),
      R"(  %rms_norm = rms_norm(%embedding, %input_norm.weight) {eps=1e-05} : f32[1, 2, 8] @ input_norm
  %reshape = reshape(%rms_norm) {sizes=[1, 2, 8, 1]} : f32[1, 2, 8, 1] @ self_attn.q_proj
  %permute = permute(%reshape) {dims=[0, 2, 3, 1]} : f32[1, 8, 1, 2] @ self_attn.q_proj
  %conv2d = conv2d(%permute, %self_attn.q_proj.weight) : f32[1, 8, 1, 2] @ self_attn.q_proj
  %permute_1 = permute(%conv2d) {dims=[0, 3, 1, 2]} : f32[1, 2, 8, 1] @ self_attn.q_proj
  %reshape_1 = reshape(%permute_1) {sizes=[1, 2, 2, 4]} : f32[1, 2, 2, 4] @ self_attn
  %transpose = transpose(%reshape_1) {dim0=1, dim1=2} : f32[1, 2, 2, 4] @ self_attn
  %conv2d_1 = conv2d(%permute, %self_attn.k_proj.weight) : f32[1, 4, 1, 2] @ self_attn.k_proj
  %permute_2 = permute(%conv2d_1) {dims=[0, 3, 1, 2]} : f32[1, 2, 4, 1] @ self_attn.k_proj
  %reshape_2 = reshape(%permute_2) {sizes=[1, 2, 1, 4]} : f32[1, 2, 1, 4] @ self_attn
  %transpose_1 = transpose(%reshape_2) {dim0=1, dim1=2} : f32[1, 1, 2, 4] @ self_attn
  %conv2d_2 = conv2d(%permute, %self_attn.v_proj.weight) : f32[1, 4, 1, 2] @ self_attn.v_proj
  %permute_3 = permute(%conv2d_2) {dims=[0, 3, 1, 2]} : f32[1, 2, 4, 1] @ self_attn.v_proj
  %reshape_3 = reshape(%permute_3) {sizes=[1, 2, 1, 4]} : f32[1, 2, 1, 4] @ self_attn
  %transpose_2 = transpose(%reshape_3) {dim0=1, dim1=2} : f32[1, 1, 2, 4] @ self_attn
  %slice_1 = slice(%transpose) {dim=3, start=0, end=2} : f32[1, 2, 2, 2] @ self_attn
  %slice_2 = slice(%transpose) {dim=3, start=2, end=4} : f32[1, 2, 2, 2] @ self_attn
  %mul = mul(%slice_1, %unsqueeze) : f32[1, 2, 2, 2] @ self_attn
  %mul_1 = mul(%slice_2, %unsqueeze_1) : f32[1, 2, 2, 2] @ self_attn
  %sub = sub(%mul, %mul_1) : f32[1, 2, 2, 2] @ self_attn
  %mul_2 = mul(%slice_2, %unsqueeze) : f32[1, 2, 2, 2] @ self_attn
  %mul_3 = mul(%slice_1, %unsqueeze_1) : f32[1, 2, 2, 2] @ self_attn
  %add = add(%mul_2, %mul_3) : f32[1, 2, 2, 2] @ self_attn
  %cat = cat(%sub, %add) {dim=3} : f32[1, 2, 2, 4] @ self_attn
  %slice_3 = slice(%transpose_1) {dim=3, start=0, end=2} : f32[1, 1, 2, 2] @ self_attn
  %slice_4 = slice(%transpose_1) {dim=3, start=2, end=4} : f32[1, 1, 2, 2] @ self_attn
  %mul_4 = mul(%slice_3, %unsqueeze) : f32[1, 1, 2, 2] @ self_attn
  %mul_5 = mul(%slice_4, %unsqueeze_1) : f32[1, 1, 2, 2] @ self_attn
  %sub_1 = sub(%mul_4, %mul_5) : f32[1, 1, 2, 2] @ self_attn
  %mul_6 = mul(%slice_4, %unsqueeze) : f32[1, 1, 2, 2] @ self_attn
  %mul_7 = mul(%slice_3, %unsqueeze_1) : f32[1, 1, 2, 2] @ self_attn
  %add_1 = add(%mul_6, %mul_7) : f32[1, 1, 2, 2] @ self_attn
  %cat_1 = cat(%sub_1, %add_1) {dim=3} : f32[1, 1, 2, 4] @ self_attn
  %transpose_3 = transpose(%cat_1) {dim0=2, dim1=3} : f32[1, 1, 4, 2] @ self_attn
  %cat_2 = cat(%k_cache_0, %transpose_3) {dim=3} : f32[1, 1, 4, 8] @ self_attn
  %unsqueeze_2 = unsqueeze(%cat_2) {dim=2} : f32[1, 1, 1, 4, 8] @ self_attn
  %expand = expand(%unsqueeze_2) {sizes=[1, 1, 2, 4, 8]} : f32[1, 1, 2, 4, 8] @ self_attn
  %reshape_4 = reshape(%expand) {sizes=[1, 2, 4, 8]} : f32[1, 2, 4, 8] @ self_attn
  %cat_3 = cat(%v_cache_0, %transpose_2) {dim=2} : f32[1, 1, 8, 4] @ self_attn
  %unsqueeze_3 = unsqueeze(%cat_3) {dim=2} : f32[1, 1, 1, 8, 4] @ self_attn
  %expand_1 = expand(%unsqueeze_3) {sizes=[1, 1, 2, 8, 4]} : f32[1, 1, 2, 8, 4] @ self_attn
  %reshape_5 = reshape(%expand_1) {sizes=[1, 2, 8, 4]} : f32[1, 2, 8, 4] @ self_attn
  %matmul = matmul(%cat, %reshape_4) : f32[1, 2, 2, 8] @ self_attn
  %mul_8 = mul(%matmul) {other=0.5} : f32[1, 2, 2, 8] @ self_attn
  %add_2 = add(%mul_8, %attention_mask) : f32[1, 2, 2, 8] @ self_attn
  %softmax = softmax(%add_2) {dim=-1} : f32[1, 2, 2, 8] @ self_attn
  %matmul_1 = matmul(%softmax, %reshape_5) : f32[1, 2, 2, 4] @ self_attn
  %transpose_4 = transpose(%matmul_1) {dim0=1, dim1=2} : f32[1, 2, 2, 4] @ self_attn
  %reshape_6 = reshape(%transpose_4) {sizes=[1, 2, 8, 1]} : f32[1, 2, 8, 1] @ self_attn.o_proj
  %permute_4 = permute(%reshape_6) {dims=[0, 2, 3, 1]} : f32[1, 8, 1, 2] @ self_attn.o_proj
  %conv2d_3 = conv2d(%permute_4, %self_attn.o_proj.weight) : f32[1, 8, 1, 2] @ self_attn.o_proj
  %permute_5 = permute(%conv2d_3) {dims=[0, 3, 1, 2]} : f32[1, 2, 8, 1] @ self_attn.o_proj
  %reshape_7 = reshape(%permute_5) {sizes=[1, 2, 8]} : f32[1, 2, 8] @ self_attn.o_proj
  %add_3 = add(%embedding, %reshape_7) : f32[1, 2, 8] @ model.layers.0
  %rms_norm_1 = rms_norm(%add_3, %post_norm.weight) {eps=1e-05} : f32[1, 2, 8] @ post_norm
  %reshape_8 = reshape(%rms_norm_1) {sizes=[1, 2, 8, 1]} : f32[1, 2, 8, 1] @ mlp.gate_proj
  %permute_6 = permute(%reshape_8) {dims=[0, 2, 3, 1]} : f32[1, 8, 1, 2] @ mlp.gate_proj
  %conv2d_4 = conv2d(%permute_6, %mlp.gate_proj.weight) : f32[1, 12, 1, 2] @ mlp.gate_proj
  %silu = silu(%conv2d_4) : f32[1, 12, 1, 2] @ mlp.act_fn
  %conv2d_5 = conv2d(%permute_6, %mlp.up_proj.weight) : f32[1, 12, 1, 2] @ mlp.up_proj
  %mul_9 = mul(%silu, %conv2d_5) : f32[1, 12, 1, 2] @ mlp
  %conv2d_6 = conv2d(%mul_9, %mlp.down_proj.weight) : f32[1, 8, 1, 2] @ mlp.down_proj
  %permute_7 = permute(%conv2d_6) {dims=[0, 3, 1, 2]} : f32[1, 2, 8, 1] @ mlp.down_proj
  %reshape_9 = reshape(%permute_7) {sizes=[1, 2, 8]} : f32[1, 2, 8] @ mlp.down_proj
  %add_4 = add(%add_3, %reshape_9) : f32[1, 2, 8] @ model.layers.0
)");
}

TEST(StaticForm, R3RotatesHeadsOfAPowerOfTwoByHadamard) {
  const std::string text = layer_text(build(checkpoint(), {.r3 = true}));
  EXPECT_THAT(text, HasSubstr(R"(
  %hadamard = hadamard(%cat) : f32[1, 2, 2, 4] @ self_attn
)"));
  EXPECT_THAT(text, HasSubstr(R"(
  %hadamard_1 = hadamard(%cat_1) : f32[1, 1, 2, 4] @ self_attn
  %transpose_3 = transpose(%hadamard_1) {dim0=2, dim1=3} : f32[1, 1, 4, 2] @ self_attn
  %cat_2 = cat(%k_cache_0, %transpose_3) {dim=3} : f32[1, 1, 4, 8] @ self_attn
)"));
  EXPECT_THAT(text, HasSubstr("matmul(%hadamard, %reshape_4)"));
}

TEST(StaticForm, R3RotatesOtherHeadsByAMatrix) {
  const Graph graph = build(checkpoint({{"head_dim", 6}}), {.r3 = true});
  EXPECT_THAT(layer_text(graph), HasSubstr(R"(
  %permute_4 = permute(%cat) {dims=[0, 3, 1, 2]} : f32[1, 6, 2, 2] @ self_attn
  %conv2d_3 = conv2d(%permute_4, %head_rotation) : f32[1, 6, 2, 2] @ self_attn
  %permute_5 = permute(%conv2d_3) {dims=[0, 2, 3, 1]} : f32[1, 2, 2, 6] @ self_attn
)"));
  EXPECT_THAT(layer_text(graph), HasSubstr(R"(
  %conv2d_4 = conv2d(%permute_6, %head_rotation) : f32[1, 6, 1, 2] @ self_attn
  %permute_7 = permute(%conv2d_4) {dims=[0, 2, 1, 3]} : f32[1, 1, 6, 2] @ self_attn
)")) << "keys come out transposed";
  EXPECT_EQ(graph.value(graph.find("head_rotation")).shape, (Shape{6, 6, 1, 1}));
}

TEST(StaticForm, SiluMayBeDecomposed) {
  EXPECT_THAT(layer_text(build(checkpoint(), {.decomposed_silu = true})), HasSubstr(R"(
  %sigmoid = sigmoid(%conv2d_4) : f32[1, 12, 1, 2] @ mlp.act_fn
  %mul_9 = mul(%conv2d_4, %sigmoid) : f32[1, 12, 1, 2] @ mlp.act_fn
  %conv2d_5 = conv2d(%permute_6, %mlp.up_proj.weight) : f32[1, 12, 1, 2] @ mlp.up_proj
  %mul_10 = mul(%mul_9, %conv2d_5) : f32[1, 12, 1, 2] @ mlp
)"));
}

TEST(StaticForm, ProjectionsHaveTheBiasesOfTheConfig) {
  const std::string attention = layer_text(build(checkpoint({{"attention_bias", true}})));
  EXPECT_THAT(attention, HasSubstr("conv2d(%permute, %self_attn.k_proj.weight, "
                                   "%self_attn.k_proj.bias)"));
  EXPECT_THAT(attention, HasSubstr("%self_attn.o_proj.bias"));
  EXPECT_THAT(attention, Not(HasSubstr("%mlp.gate_proj.bias")));
  const std::string mlp = layer_text(build(checkpoint({{"mlp_bias", true}})));
  EXPECT_THAT(mlp, HasSubstr("conv2d(%mul_9, %mlp.down_proj.weight, %mlp.down_proj.bias)"));
  EXPECT_THAT(mlp, Not(HasSubstr("%self_attn.q_proj.bias")));
}

TEST(StaticForm, HeadsOfTheirOwnAreNotRepeated) {
  EXPECT_THAT(layer_text(build(checkpoint({{"num_key_value_heads", 2}}))),
              Not(HasSubstr("expand")));
}

TEST(StaticForm, ATiedHeadHasTheDataOfTheEmbedding) {
  const Graph tied = build(checkpoint());
  const Value& head = tied.value(tied.find("lm_head.weight"));
  EXPECT_EQ(head.shape, (Shape{16, 8, 1, 1}));
  EXPECT_EQ(head.constant, tied.value(tied.find("model.embed_tokens.weight")).constant);

  const Graph untied = build(checkpoint({{"tie_word_embeddings", false}}));
  EXPECT_EQ(untied.value(untied.find("lm_head.weight")).constant->name, "lm_head.weight");
}

TEST(StaticForm, RopeTablesHoldTheFirstHalvesOfCosAndSin) {
  const auto source = checkpoint();
  const Graph graph = build(source);
  const std::vector<float> frequencies = rope_inverse_frequencies(source->config().rope, 4, 8);
  const auto table = [&](const char* name) {
    std::vector<float> rows = constant_floats(graph.value(graph.find(name)));  // [8, 2]
    EXPECT_EQ(rows.size(), 16u);
    return rows;
  };
  const std::vector<float> cos = table("model.rotary_emb.cos_table");
  const std::vector<float> sin = table("model.rotary_emb.sin_table");
  for (size_t position = 0; position < 8; ++position) {
    for (size_t i = 0; i < 2; ++i) {
      const float angle = static_cast<float>(position) * frequencies[i];
      EXPECT_EQ(cos[position * 2 + i], std::cos(angle));
      EXPECT_EQ(sin[position * 2 + i], std::sin(angle));
    }
  }
}

TEST(StaticForm, RolesHaveTheSameIds) {
  const auto source = checkpoint();
  const Graph decode = build_static_graph(source, {GraphRole::decode, 1, 8}, {.r3 = true});
  for (const GraphShape& shape :
       {GraphShape{GraphRole::prefill, 4, 8}, GraphShape{GraphRole::calibrate, 12, 12}}) {
    const Graph other = build_static_graph(source, shape, {.r3 = true});
    verify(other);
    ASSERT_EQ(decode.order(), other.order());
    for (const NodeId id : decode.order()) {
      EXPECT_EQ(decode.node(id).op, other.node(id).op);
      EXPECT_EQ(decode.node(id).module, other.node(id).module);
      EXPECT_EQ(decode.node(id).inputs, other.node(id).inputs);
    }
  }
}

}  // namespace
}  // namespace lathe
