// Numbers of messages: their place in the text, and the table of them. message_programs.cpp has the examples.
#include "function_net.h"

using namespace kiln;
using Catch::Contains;

TEST_CASE("an error has its number at the end of its first line") {
  const Tensor a = ones({2, 3});
  try {
    F::sum(a, {.axis = 5});
    FAIL("there was no error");
  } catch (const Error& e) {
    const std::string text = e.what();
    CHECK(e.code() == "KL0103");
    CHECK(text.ends_with("data is float32 (2, 3) [KL0103]"));
    CHECK(text.find("[KL") == text.rfind("[KL"));
  }
  CHECK(Error("no number").code().empty());
  CHECK(Error("[KL0101]").code().empty());
  CHECK(Error("cut [KL01").code().empty());
  // A text that was added to a message goes before its number.
  const Error more("x: first [KL0101]; data is y\nsecond line");
  CHECK(std::string(more.what()) == "x: first; data is y [KL0101]\nsecond line");
  CHECK(more.code() == "KL0101");
  const Error copy = more;
  CHECK(copy.code() == "KL0101");
}

TEST_CASE("the number of an error that another one wraps") {
  nn::Dense layer(4);
  layer.initialize();
  struct Net : HybridBlock {
    Child<nn::Dense> fc{this, "fc"};
    Net() { fc = nn::Dense(4, {.in_units = 3}); }
    Tensor hybrid_forward(F&, const Tensor& x) override { return fc(x); }
  };
  Net net;
  net.initialize();
  net.hybridize();
  try {
    net(ones({2, 5}));
    FAIL("there was no error");
  } catch (const Error& e) {
    CHECK(e.code() == "KL0108");
    CHECK_THAT(e.what(), Contains("messages_test.cpp:"));
  }
}

TEST_CASE("the table of messages") {
  const std::vector<MessageDoc> docs = message_docs();
  CHECK(docs.size() >= 25);
  for (const MessageDoc& m : docs) {
    INFO(m.code);
    CHECK(m.code.size() == 6);
    for (const std::string_view text : {m.title, m.cause, m.wrong, m.right, m.remedy}) {
      CHECK_FALSE(text.empty());
      CHECK_FALSE(text.starts_with('\n'));
      CHECK_FALSE(text.ends_with('\n'));
    }
    CHECK(m.wrong != m.right);
  }
  CHECK(message_doc("KL0103").title == message_doc("kl0103").title);
  for (const char* form : {"103", "KL103", "[KL0103]", "[kl103]"}) CHECK(message_doc(form).code == "KL0103");
  CHECK_THROWS_WITH(message_doc("[KL0103"), Contains("'[KL0103' is no code"));
  CHECK_THROWS_WITH(message_doc("KL0199"), Contains("there is no message KL0199; the nearest are KL0201"));
  CHECK_THROWS_WITH(message_doc("KL01x3"), Contains("'KL01x3' is no code"));
  CHECK_THROWS_WITH(message_doc(""), Contains("is no code"));
}
