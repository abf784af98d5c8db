#include "program/lab/query.h"

#include <memory>

#include <fmt/format.h>

extern "C" {
#include <jq.h>
#include <jv.h>
}

#include "base/error.h"
#include "program/lab/embedded.h"
#include "program/lab/limited.h"

namespace trainyard::lab {
namespace {

std::string text_of(jv value) {
  std::string text = jv_string_value(value);
  jv_free(value);
  return text;
}

void collect(void* messages, jv message) {
  auto& text = *static_cast<std::string*>(messages);
  if (!text.empty()) text += "; ";
  text += text_of(jq_format_error(message));
}

// `debug` and `stderr` say nothing, `input` has nothing: without these libjq crashes.
void say_nothing(void* /*data*/, jv message) {
  jv_free(message);
}

jv no_input(jq_state* /*state*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return jv_invalid();
}

using State = std::unique_ptr<jq_state, decltype([](jq_state* state) { jq_teardown(&state); })>;

// `input_asked` is set while the program runs and must outlive the state.
State compile(std::string_view program, std::string_view functions, const std::string& where,
              bool& input_asked) {
  State state(jq_init());
  if (state == nullptr) throw_failure("libjq could not be started");
  std::string messages;
  jq_set_error_cb(state.get(), collect, &messages);
  jq_set_debug_cb(state.get(), say_nothing, nullptr);
  jq_set_input_cb(state.get(), no_input, &input_asked);
  const std::string whole =
      fmt::format("{}\n{}\n{}", embedded_text(embedded_files(), "prelude.jq"), functions, program);
  if (jq_compile(state.get(), whole.c_str()) == 0) {
    throw_error("{}: '{}' is not a jq program: {}", where, program, messages);
  }
  jq_set_error_cb(state.get(), nullptr, nullptr);
  return state;
}

// The first result, as JSON.
std::string first_result(std::string_view program, std::string_view functions, const Json& input,
                         const std::string& where) {
  bool input_asked = false;
  const State state = compile(program, functions, where, input_asked);
  const std::string text = input.dump(-1);
  jq_start(state.get(), jv_parse_sized(text.data(), static_cast<int>(text.size())), 0);
  jv result = jq_next(state.get());
  if (jv_is_valid(result)) return text_of(jv_dump_string(result, 0));
  const bool failed = jv_invalid_has_msg(jv_copy(result)) != 0;
  if (!failed) {
    jv_free(result);
    throw_error("{}: the jq program gives no result", where);
  }
  jv message = jv_invalid_get_msg(result);
  if (jv_get_kind(message) != JV_KIND_STRING) message = jv_dump_string(message, 0);
  const std::string problem = text_of(message);
  // What jq calls the end of inputs.
  TY_REQUIRE(!input_asked || problem != "break",
             "{}: a query has one input, which is '.'; there is no next one", where);
  throw_error("{}: {}", where, problem);
}

}  // namespace

Json ask(std::string_view program, const Json& input, const std::string& where,
         std::string_view functions) {
  const auto work = [&] { return first_result(program, functions, input, where); };
  return Json::parse(run_limited(work, where), where);
}

}  // namespace trainyard::lab
