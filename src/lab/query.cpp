#include "lab/query.h"

#include <fmt/format.h>

extern "C" {
#include <jq.h>
#include <jv.h>
}

#include "base/error.h"
#include "lab/embedded.h"

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

}  // namespace

struct Query::Impl {
  ~Impl() {
    if (state != nullptr) jq_teardown(&state);
  }

  std::string where;
  jq_state* state = nullptr;
  std::string messages;
};

Query::Query(std::string_view program, std::string where) : impl_(std::make_unique<Impl>()) {
  impl_->where = std::move(where);
  impl_->state = jq_init();
  if (impl_->state == nullptr) throw_failure("libjq could not be started");
  jq_set_error_cb(impl_->state, collect, &impl_->messages);
  const std::string whole = fmt::format("{}\n{}", embedded_file("prelude.jq"), program);
  if (jq_compile(impl_->state, whole.c_str()) == 0) {
    throw_error("{}: '{}' is not a jq program: {}", impl_->where, program, impl_->messages);
  }
}

Query::~Query() = default;
Query::Query(Query&&) noexcept = default;
Query& Query::operator=(Query&&) noexcept = default;

Json Query::one(const Json& input) const {
  const std::string text = input.dump(-1);
  jq_start(impl_->state, jv_parse_sized(text.data(), static_cast<int>(text.size())), 0);
  jv result = jq_next(impl_->state);
  if (!jv_is_valid(result)) {
    const bool failed = jv_invalid_has_msg(jv_copy(result)) != 0;
    if (!failed) {
      jv_free(result);
      throw_error("{}: the jq program gives no result", impl_->where);
    }
    jv message = jv_invalid_get_msg(result);
    if (jv_get_kind(message) != JV_KIND_STRING) message = jv_dump_string(message, 0);
    throw_error("{}: {}", impl_->where, text_of(message));
  }
  return Json::parse(text_of(jv_dump_string(result, 0)), impl_->where);
}

std::string fill_in(std::string_view text, const Json& input, const std::string& where) {
  return fill_in(text, where,
                 [&](std::string_view program) { return Query(program, where).one(input); });
}

std::string fill_in(std::string_view text, const std::string& where,
                    const std::function<Json(std::string_view)>& ask) {
  std::string out;
  while (true) {
    const size_t open = text.find("{{");
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const size_t close = text.find("}}", open);
    TY_REQUIRE(close != std::string_view::npos, "{}: '{{{{' without '}}}}'", where);
    const Json value = ask(text.substr(open + 2, close - open - 2));
    if (value.is_string()) {
      out += value.as_string();
    } else if (value.is_number()) {
      out += fmt::format("{:.6g}", value.as_number());
    } else {
      out += value.dump(-1);
    }
    text.remove_prefix(close + 2);
  }
}

void for_each_program(std::string_view text, const std::function<void(std::string_view)>& use) {
  for (size_t open = text.find("{{"); open != std::string_view::npos; open = text.find("{{")) {
    const size_t close = text.find("}}", open);
    if (close == std::string_view::npos) return;
    use(text.substr(open + 2, close - open - 2));
    text.remove_prefix(close + 2);
  }
}

}  // namespace trainyard::lab
