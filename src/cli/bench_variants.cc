#include "cli/bench_variants.h"

#include <iostream>

#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/variants_page.h"
#include "cli/variants_table.h"
#include "support/output_file.h"

namespace lathe::cli {

void bench_variants(const VariantsArguments& arguments) {
  VariantsOptions options = arguments.options;
  options.compile.progress = progress;
  if (!arguments.text.empty()) options.text = read_text(arguments.text);
  // A page that cannot be written is found before the work, and written after it.
  if (!arguments.report.empty()) OutputFile{arguments.report};
  const VariantsReport report = compare_variants(arguments.source, options);
  if (!arguments.report.empty()) {
    OutputFile page(arguments.report);
    page.write(variants_page(report));
    page.commit();
  }
  if (arguments.json) {
    print_json(variants_json(report));
  } else {
    std::cout << variants_text(report);
  }
}

}  // namespace lathe::cli
