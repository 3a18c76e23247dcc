#include <cstdlib>

#include "executors/kernels/kernel_test.h"
#include "support/error.h"

namespace lathe {
namespace {

TEST(IsaTest, PortableIsAlwaysThereAndComesFirst) {
  ASSERT_FALSE(available_isas().empty());
  EXPECT_EQ(available_isas().front(), Isa::portable);
}

TEST(IsaTest, NamesAreReadBack) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avxvnni, Isa::avx512bw, Isa::avx512,
                        Isa::amx, Isa::neon_dotprod, Isa::neon_i8mm}) {
    EXPECT_EQ(isa_named(name_of(isa)), isa);
  }
  EXPECT_EQ(isa_named("sse2"), std::nullopt);
  EXPECT_EQ(isa_named(""), std::nullopt);
}

TEST(IsaTest, EveryTableBelongsToItsInstructionSet) {
  for (const Isa isa : available_isas()) EXPECT_EQ(kernels_for(isa).isa, isa);
}

TEST(IsaTest, TheEnvironmentChoosesAndABadNameIsRefused) {
  setenv("LATHE_ISA", "fastest\x1b", 1);
  try {
    select_kernels();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    const std::string line = error.what();
    EXPECT_NE(line.find("environment variable LATHE_ISA: no such instruction set: expected "
                        "portable"),
              std::string::npos)
        << line;
    EXPECT_NE(line.find("found fastest "), std::string::npos) << line;
  }
  setenv("LATHE_ISA", available_isas().back() == Isa::neon_i8mm ? "avx2" : "neon_i8mm", 1);
  EXPECT_THROW(select_kernels(), Error);

  setenv("LATHE_ISA", "portable", 1);
  EXPECT_EQ(select_kernels().isa, Isa::portable);
  unsetenv("LATHE_ISA");
  EXPECT_EQ(select_kernels().isa, Isa::portable) << "chosen once";
}

}  // namespace
}  // namespace lathe
