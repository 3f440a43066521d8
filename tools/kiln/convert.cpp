// kiln convert: rewrites any symbol file in the form of MXNet 1.9.1.
#include "tools/kiln/command.h"

#include <kiln/model.h>

namespace kiln::tool {
namespace {

struct ConvertArguments {
  std::string symbol, prefix, params;
  int epoch = 0;
};

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App* c = app.add_subcommand("convert", "Rewrite a symbol file of any version as MXNet 1.9.1 would");
  c->add_option("MODEL", a->symbol, "The network: a -symbol.json file")->required()->option_text(" ");
  c->add_option("PREFIX", a->prefix, "Output: PREFIX-symbol.json, PREFIX-0000.params")
      ->required()
      ->option_text(" ");
  c->add_option("--params", a->params, "Parameters to convert too")->option_text("FILE");
  c->add_option("--epoch", a->epoch, "The number in PREFIX-0000.params")
      ->option_text("N")
      ->check(CLI::Range(0, 9999));
  c->callback([a, &action] {
    action = [a] {
      convert_model(a->symbol, a->prefix, a->params.empty() ? std::nullopt : std::optional(a->params),
                    a->epoch, {});
      return ok;
    };
  });
}

}  // namespace kiln::tool
