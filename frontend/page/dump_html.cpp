// dump_html(): runs a call with reports and profile, and fills the page's template.
#include "codegen/driver/report.h"
#include "frontend/call/line.h"
#include "frontend/page/page_data.h"
#include "frontend/page/page_template.h"
#include "runtime/fail.h"
#include "runtime/median.h"
#include "runtime/profile.h"
#include "runtime/text_file.h"

#include <kiln/autograd.h>
#include <kiln/dump_html.h>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace kiln {
namespace {

using PageClock = std::chrono::steady_clock;

constexpr std::int64_t min_page_calls = 5;

double page_seconds_since(PageClock::time_point begin) {
  return std::chrono::duration<double>(PageClock::now() - begin).count();
}

/// The median time of a call.
double timed_calls(const std::function<void()>& call, double seconds) {
  std::vector<double> times;
  const auto begin = PageClock::now();
  do {
    const auto one = PageClock::now();
    if (!call) fail("dump_html() needs a call, and this function is empty");
    call();
    times.push_back(page_seconds_since(one));
  } while (times.size() < min_page_calls || page_seconds_since(begin) < seconds);
  return median_of(times);
}

/// Calls for the given time; returns how often.
std::int64_t repeated_calls(const std::function<void()>& call, double seconds) {
  std::int64_t calls = 0;
  const auto begin = PageClock::now();
  do call();
  while (++calls < min_page_calls || page_seconds_since(begin) < seconds);
  waitall();
  return calls;
}

std::string escaped_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '\0')
      out += "\uFFFD";  // which no document may have
    else
      out += c;
  }
  return out;
}

/// `text` with U+FFFD in the place of bytes that are no UTF-8, as in the page's JSON.
std::string replaced_utf8(const std::string& text) {
  const nlohmann::json json = text;
  return nlohmann::json::parse(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .get<std::string>();
}

/// JSON in a script element: `<` is written so that no text ends the element.
std::string json_for_script(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

/// Replaces each mark of the template; marks in the replacements stay.
std::string filled_page(std::string_view page, std::string_view title, std::string_view json) {
  const std::pair<std::string_view, std::string_view> marks[] = {
      {"{{title}}", title}, {"{{style}}", page_style}, {"{{data}}", json}, {"{{script}}", page_script}};
  std::string out;
  for (const auto& [mark, value] : marks) {
    const std::size_t at = page.find(mark);
    if (at == page.npos) fail_internal("the template of pages has no {}", mark);
    out += page.substr(0, at);
    out += value;
    page.remove_prefix(at + mark.size());
  }
  return out += page;
}

void write_page(const std::string& path, const std::string& text) {
  if (const std::string problem = write_text(path, text); !problem.empty())
    fail("{}: the page cannot be written: {}", path, problem);
}

bool is_loaded(const std::unique_ptr<CompilationReport>& report) { return report->executable != nullptr; }

bool has_bodies(const std::unique_ptr<CompilationReport>& report) {
  return is_loaded(report) && !report->executable->plan().bodies.empty();
}

std::string title_of(const DumpHtmlOptions& options, const ReportScope& reports) {
  if (!options.title.empty()) return options.title;
  return (*std::find_if(reports.compilations.begin(), reports.compilations.end(), is_loaded))->name;
}

}  // namespace

void dump_html(const std::function<void()>& call, const std::string& path, const DumpHtmlOptions& options,
               std::source_location where) {
  at_line(where, [&] {
    ReportScope reports;
    if (!call) fail("dump_html() needs a call, and this function is empty");
    call();
    if (std::none_of(reports.compilations.begin(), reports.compilations.end(), is_loaded)) {
      if (reports.has_inner)
        fail(
            "dump_html() describes code that its call compiles, and another dump_html() inside of the call "
            "has "
            "described it: make one page after the other");
      fail(
          "dump_html() describes code that its call compiles, and this call compiled nothing: it ran before. "
          "Make the network or the step anew, or call it with other shapes");
    }
    // Code that the second call compiles, as a forward part that packs weights, is described too.
    const double seconds = timed_calls([&] { call(), waitall(); }, options.seconds / 2);
    const bool in_bodies = std::any_of(reports.compilations.begin(), reports.compilations.end(), has_bodies);
    const double profiled = options.seconds / (in_bodies ? 4 : 2);
    const std::string title = replaced_utf8(title_of(options, reports));
    const Profile profile;
    PageInput input{.title = title, .reports = reports, .profile = *Profile::Record::current()};
    input.call_seconds = seconds;
    input.calls = repeated_calls(call, profiled);
    // Loops have their time from other calls than their bodies, whose measurement takes time too.
    const Profile of_bodies;
    if (in_bodies) {
      input.bodies = Profile::Record::current();
      Profile::Record::current()->measures_bodies = true;
      input.body_calls = repeated_calls(call, profiled);
    }
    const nlohmann::ordered_json json = page_json(input);
    write_page(path, filled_page(page_document, escaped_html(title), json_for_script(json)));
  });
}

}  // namespace kiln
