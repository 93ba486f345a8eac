// weft.h: requests and sessions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/specialize.h"
#include "engine/stages.h"
#include "frontend/c_api.h"
#include "frontend/request_text.h"

using namespace weft;
using namespace weft::c_api;

namespace {

/// The operands of a request that lists none.
Expected<std::vector<std::string>> operands_read(const RequestText& text) {
  const auto& parsed = text.parsed();
  if (!parsed) return std::unexpected(parsed.error());
  if (parsed->notation == Notation::einsum) {
    return input_error("an einsum has its operands listed, or their names behind it, as in ij,jk->ik A B: 'operands' is NULL");
  }
  return names_read(*parsed);
}

}  // namespace

int32_t weft_request_create(weft_request** made, weft_error** error) {
  return making(made, error, []() -> Expected<weft_request*> { return new weft_request; });
}

int32_t weft_request_set_format(weft_request* request, const char* name, const char* format, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = all(given(name, "name"), given(format, "format")); !there) return there;
    const std::string_view text = format;
    if (text.starts_with("like(") && text.ends_with(")")) {
      request->options.formats.erase(name);
      request->options.patterns[name] = text.substr(5, text.size() - 6);
      return {};
    }
    auto parsed = parse_format(text);
    if (!parsed) return fail(parsed.error().kind, fmt::format("format of {}: {}", name, parsed.error().message));
    request->options.patterns.erase(name);
    request->options.formats[name] = std::move(*parsed);
    return {};
  });
}

int32_t weft_request_add_result(weft_request* request, const char* name, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    request->options.results.emplace_back(name);
    return {};
  });
}

int32_t weft_request_set_tree(weft_request* request, const char* tree, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(tree, "tree"); !there) return there;
    request->options.tree = tree;
    return {};
  });
}

int32_t weft_request_set_schedule(weft_request* request, const char* schedule, const char* name, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(schedule, "schedule"); !there) return there;
    request->options.schedule = schedule;
    request->options.schedule_name = name ? name : "";
    return {};
  });
}

int32_t weft_request_set_objective(weft_request* request, const char* objective, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(objective, "objective"); !there) return there;
    request->options.objective = objective;
    return {};
  });
}

int32_t weft_request_set_specialization(weft_request* request, const char* specialization, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(specialization, "specialization"); !there) return there;
    const auto grade = parse_specialization(specialization);
    if (!grade) return input_error(fmt::format("specialization '{}': generic, profiled, baked and automatic are known", specialization));
    request->options.specialize = *grade;
    return {};
  });
}

int32_t weft_request_set_unfused(weft_request* request, int32_t unfused, weft_error** error) {
  return setting_flag(request, "request", &EvaluateOptions::unfused, unfused, error);
}

int32_t weft_request_set_prove(weft_request* request, int32_t prove, weft_error** error) {
  return setting_flag(request, "request", &EvaluateOptions::prove, prove, error);
}

int32_t weft_request_set_choose_layouts(weft_request* request, int32_t choose, weft_error** error) {
  return setting_flag(request, "request", &EvaluateOptions::choose_layouts, choose, error);
}

int32_t weft_request_set_calls(weft_request* request, double calls, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (!(calls >= 1) || std::isinf(calls)) return input_error(fmt::format("{} expected calls: a number from 1 on is possible", calls));
    request->options.calls = calls;
    return {};
  });
}

int32_t weft_request_add_changing(weft_request* request, const char* name, int32_t coordinates, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    (coordinates != 0 ? request->options.changing_patterns : request->options.changing).emplace_back(name);
    return {};
  });
}

int32_t weft_request_set_assume_finite(weft_request* request, const char* name, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (name == nullptr) {
      request->options.assume_all_finite = true;
    } else {
      request->options.assume_finite.emplace_back(name);
    }
    return {};
  });
}

int32_t weft_request_add_scaled(weft_request* request, const char* name, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    request->options.scaled.emplace_back(name);
    return {};
  });
}

int32_t weft_request_add_strided(weft_request* request, const char* name, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    request->options.strided.emplace_back(name);
    return {};
  });
}

int32_t weft_request_add_lent_result(weft_request* request, const char* name, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    request->options.lent_results.emplace_back(name);
    return {};
  });
}

int32_t weft_request_set_cancellation(weft_request* request, const weft_cancellation* cancellation, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    request->cancellation.reset();
    if (cancellation) request->cancellation = cancellation->cancellation;
    return {};
  });
}

int32_t weft_request_set_repeat(weft_request* request, uint32_t repeat, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    request->options.repeat = repeat;
    return {};
  });
}

int32_t weft_request_set_plan_only(weft_request* request, int32_t plan_only, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    request->options.run = plan_only == 0;
    return {};
  });
}

int32_t weft_request_set_compile(weft_request* request, int32_t compile, weft_error** error) {
  return setting_flag(request, "request", &EvaluateOptions::compile, compile, error);
}

int32_t weft_request_set_why(weft_request* request, int32_t why, weft_error** error) {
  return setting_flag(request, "request", &EvaluateOptions::why, why, error);
}

int32_t weft_request_set_count(weft_request* request, int32_t count, weft_error** error) {
  return setting_flag(request, "request", &EvaluateOptions::count, count, error);
}

int32_t weft_request_add_stage(weft_request* request, const char* stage, weft_error** error) {
  return setting(request, "request", error, [&]() -> Expected<void> {
    if (auto there = given(stage, "stage"); !there) return there;
    if (!parse_stage(stage)) return input_error(no_stage(stage));
    request->options.stages.emplace_back(stage);
    return {};
  });
}

void weft_request_free(weft_request* request) { delete request; }

int32_t weft_session_create(const weft_engine* engine, weft_session** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_session*> {
    if (auto there = given(engine, "engine"); !there) return std::unexpected(there.error());
    Session session(engine->engine);
    if (auto failure = session.failure()) return std::unexpected(std::move(*failure));
    return new weft_session{std::move(session), {}, {}};
  });
}

int32_t weft_session_set(weft_session* session, const char* name, const weft_tensor* tensor, weft_error** error) {
  return setting(session, "session", error, [&]() -> Expected<void> {
    if (auto there = all(given(name, "name"), given(tensor, "tensor")); !there) return there;
    session->session.set(name, tensor->tensor);
    if (auto failure = session->session.failure()) return std::unexpected(std::move(*failure));
    return {};
  });
}

int32_t weft_session_get(const weft_session* session, const char* name, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    if (auto there = all(given(session, "session"), given(name, "name")); !there) return std::unexpected(there.error());
    const auto tensors = session->session.tensors();
    const auto found = tensors->find(name);
    if (found == tensors->end()) return input_error(fmt::format("no tensor is named {}", name));
    return tensor_handle(found->second);
  });
}

int32_t weft_session_drop(weft_session* session, const char* name, weft_error** error) {
  return setting(session, "session", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    session->session.drop(name);
    if (auto failure = session->session.failure()) return std::unexpected(std::move(*failure));
    return {};
  });
}

uint64_t weft_session_count(const weft_session* session) { return session ? session->session.tensors()->size() : 0; }
const char* weft_session_name(weft_session* session, uint64_t number) {
  if (!session) return "";
  const std::lock_guard lock(session->guard);
  session->named = session->session.tensors();
  return name_at(*session->named, number);
}

int32_t weft_session_evaluate(weft_session* session, const char* expression, uint64_t operand_count, const char* const* operands,
                              const weft_request* request, weft_evaluation** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_evaluation*> {
    if (auto there = all(given(session, "session"), given(expression, "expression")); !there) {
      return std::unexpected(there.error());
    }
    const std::shared_ptr<const Tensors> tensors = session->session.tensors();
    Expected<std::vector<std::string>> names = std::vector<std::string>{};
    RequestText text(expression, operands ? among(*names) : among(*tensors));
    if (!operands) {
      if (operand_count > 0) return input_error(fmt::format("{} operands, but 'operands' is NULL", operand_count));
      names = operands_read(text);
      if (!names) return std::unexpected(std::move(names.error()));
    }
    for (std::uint64_t operand = 0; operands && operand < operand_count; ++operand) {
      if (auto there = given(operands[operand], fmt::format("operands[{}]", operand)); !there) return std::unexpected(there.error());
      names->emplace_back(operands[operand]);
    }
    const EvaluateOptions options = request ? request->options : EvaluateOptions{};
    auto evaluation = evaluate(session->session, text, *names, options, request ? request->token() : nullptr);
    if (!evaluation) return std::unexpected(std::move(evaluation.error()));
    return new weft_evaluation{std::move(evaluation->results), std::move(evaluation->report), options.run, {}, {}};
  });
}

int32_t weft_session_answer(const weft_session* session, const char* expression, int32_t soonest, const weft_cancellation* cancellation,
                            weft_evaluation** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_evaluation*> {
    if (auto there = all(given(session, "session"), given(expression, "expression")); !there) return std::unexpected(there.error());
    auto results = session->session.evaluate(expression, soonest != 0 ? Answer::soonest : Answer::best,
                                             cancellation ? &cancellation->cancellation : nullptr);
    if (!results) return std::unexpected(std::move(results.error()));
    return new weft_evaluation{std::move(*results), std::nullopt, true, {}, {}};
  });
}

void weft_session_free(weft_session* session) { delete session; }
