// weft.h: bindings, kernels and their compilation, evaluations.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <iterator>

#include "frontend/c_api.h"
#include "frontend/page.h"
#include "frontend/report_json.h"

namespace weft::c_api {

const char* name_at(const Tensors& tensors, std::uint64_t number) {
  if (number >= tensors.size()) return "";
  return std::next(tensors.begin(), static_cast<std::ptrdiff_t>(number))->first.c_str();
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

namespace {

/// Without what only an evaluation asks for.
CompileOptions compile_options(const weft_request* request) {
  return request ? static_cast<const CompileOptions&>(request->options) : CompileOptions{};
}

template <class Value>
const char* key_at(const std::map<std::string, Value>& map, std::uint64_t number) {
  if (number >= map.size()) return "";
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(number))->first.c_str();
}

Expected<const ResultReport*> result_of(const weft_kernel* kernel, std::uint64_t number) {
  if (auto there = given(kernel, "kernel"); !there) return std::unexpected(there.error());
  const auto& results = kernel->kernel.report().results;
  if (number >= results.size()) return input_error(fmt::format("result {} of a kernel with {}: they begin at 0", number, results.size()));
  return &std::next(results.begin(), static_cast<std::ptrdiff_t>(number))->second;
}

const Cancellation* token(const weft_request* request) { return request ? request->token() : nullptr; }

}  // namespace

int32_t weft_bindings_create(weft_bindings** made, weft_error** error) {
  return making(made, error, []() -> Expected<weft_bindings*> {
    auto bindings = std::make_unique<weft_bindings>();
    if (auto failure = bindings->bindings.failure()) return std::unexpected(std::move(*failure));
    return bindings.release();
  });
}

int32_t weft_bindings_set(weft_bindings* bindings, const char* name, const weft_tensor* tensor, uint32_t flags, weft_error** error) {
  return setting(bindings, "bindings", error, [&]() -> Expected<void> {
    if (auto there = all(given(name, "name"), given(tensor, "tensor")); !there) return there;
    if ((flags & ~static_cast<std::uint32_t>(WEFT_CHANGES | WEFT_FINITE)) != 0) {
      return input_error(fmt::format("flags {}: known here are WEFT_CHANGES ({}) and WEFT_FINITE ({})", flags, +WEFT_CHANGES,
                                     +WEFT_FINITE));
    }
    // Verified when it was made, unless the host vouched for it.
    weft_bindings changed = *bindings;  // all of it is set, or nothing
    changed.operands[name] = tensor->tensor;
    changed.bindings.set(name, tensor->tensor,
                         {.trusted = true, .changes = (flags & WEFT_CHANGES) != 0, .assume_finite = (flags & WEFT_FINITE) != 0});
    if (auto failure = changed.bindings.failure()) return std::unexpected(std::move(*failure));
    *bindings = std::move(changed);
    return {};
  });
}

int32_t weft_bindings_replace_values(weft_bindings* bindings, const char* name, int32_t scalar, const void* values, uint64_t count,
                                     weft_error** error) {
  return setting(bindings, "bindings", error, [&]() -> Expected<void> {
    if (auto there = all(given(name, "name"), count > 0 ? given(values, "values") : Expected<void>{}); !there) return there;
    const auto type = scalar_of(scalar);
    if (!type) return std::unexpected(type.error());
    const auto known = bindings->operands.find(name);
    if (auto done = bindings->bindings.replace_values(name, values_of(*type, values, count)); !done) return done;
    auto replaced = same_pattern(known->second, values_of(*type, values, count));
    if (!replaced) return std::unexpected(std::move(replaced.error()));
    known->second = std::move(*replaced);
    return {};
  });
}

int32_t weft_bindings_set_output(weft_bindings* bindings, const char* name, int32_t scalar, uint32_t order, const uint64_t* extents,
                                 const int64_t* strides, void* values, weft_error** error) {
  return setting(bindings, "bindings", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    if (order > 0) {
      if (auto there = given(extents, "extents"); !there) return there;
    }
    auto memory = borrowed_dense(scalar, {extents, extents + order}, strides, values);
    if (!memory) return std::unexpected(std::move(memory.error()));
    Bindings changed = bindings->bindings;
    changed.output(name, std::move(*memory));
    if (auto failure = changed.failure()) return std::unexpected(std::move(*failure));
    bindings->bindings = std::move(changed);
    return {};
  });
}

int32_t weft_bindings_set_scratch(weft_bindings* bindings, void* memory, uint64_t bytes, weft_error** error) {
  return setting(bindings, "bindings", error, [&]() -> Expected<void> {
    if (bytes > 0) {
      if (auto there = given(memory, "memory"); !there) return there;
    }
    Bindings changed = bindings->bindings;
    changed.scratch({static_cast<std::byte*>(memory), static_cast<std::size_t>(bytes)});
    if (auto failure = changed.failure()) return std::unexpected(std::move(*failure));
    bindings->bindings = std::move(changed);
    return {};
  });
}

int32_t weft_bindings_set_output_tensor(weft_bindings* bindings, const char* name, const weft_tensor* memory, weft_error** error) {
  return setting(bindings, "bindings", error, [&]() -> Expected<void> {
    if (auto there = all(given(name, "name"), given(memory, "memory")); !there) return there;
    Bindings changed = bindings->bindings;
    changed.output(name, memory->tensor);
    if (auto failure = changed.failure()) return std::unexpected(std::move(*failure));
    bindings->bindings = std::move(changed);
    return {};
  });
}

int32_t weft_bindings_scale_output(weft_bindings* bindings, const char* name, double alpha, double beta, weft_error** error) {
  return setting(bindings, "bindings", error, [&]() -> Expected<void> {
    if (auto there = given(name, "name"); !there) return there;
    return bindings->bindings.scale_output(name, {alpha, beta});
  });
}

int32_t weft_bindings_copy(const weft_bindings* bindings, weft_bindings** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_bindings*> {
    if (auto there = given(bindings, "bindings"); !there) return std::unexpected(there.error());
    return new weft_bindings(*bindings);
  });
}

void weft_bindings_free(weft_bindings* bindings) { delete bindings; }

int32_t weft_engine_compile(const weft_engine* engine, const char* expression, const weft_bindings* bindings,
                            const weft_request* request, weft_kernel** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_kernel*> {
    if (auto there = all(given(engine, "engine"), given(expression, "expression"), given(bindings, "bindings")); !there) {
      return std::unexpected(there.error());
    }
    auto kernel = engine->engine.compile(expression, bindings->operands, compile_options(request), token(request));
    if (!kernel) return std::unexpected(std::move(kernel.error()));
    return new weft_kernel{std::move(*kernel), {}, {}, {}, {}, {}};
  });
}

int32_t weft_engine_compile_for(const weft_engine* engine, const char* expression, uint64_t count, const char* const* names,
                                const weft_statistics* const* statistics, const weft_request* request, weft_kernel** made,
                                weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_kernel*> {
    if (auto there = all(given(engine, "engine"), given(expression, "expression")); !there) return std::unexpected(there.error());
    if (count > 0) {
      if (auto there = all(given(names, "names"), given(statistics, "statistics")); !there) return std::unexpected(there.error());
    }
    std::map<std::string, Statistics> operands;
    for (std::uint64_t number = 0; number < count; ++number) {
      if (auto there = all(given(names[number], fmt::format("names[{}]", number)),
                           given(statistics[number], fmt::format("statistics[{}]", number)));
          !there)
        return std::unexpected(there.error());
      if (!operands.emplace(names[number], statistics[number]->known).second) {
        return input_error(fmt::format("names[{}]: {} is given twice", number, names[number]));
      }
    }
    auto kernel = engine->engine.compile(expression, operands, compile_options(request), token(request));
    if (!kernel) return std::unexpected(std::move(kernel.error()));
    return new weft_kernel{std::move(*kernel), {}, {}, {}, {}, {}};
  });
}

int32_t weft_compilation_start(const weft_engine* engine, const char* expression, const weft_bindings* bindings,
                               const weft_request* request, const weft_cancellation* cancellation, weft_done_callback done,
                               void* context, weft_compilation** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_compilation*> {
    if (auto there = all(given(engine, "engine"), given(expression, "expression"), given(bindings, "bindings")); !there) {
      return std::unexpected(there.error());
    }
    std::function<void(const Expected<Kernel>&)> tell;
    if (done) tell = [done, context](const Expected<Kernel>&) { done(context); };
    Cancellation ends;
    if (const Cancellation* of_request = token(request)) ends = *of_request;
    if (cancellation) ends = cancellation->cancellation;
    return new weft_compilation{
        engine->engine.compile_async(expression, bindings->operands, compile_options(request), std::move(tell), ends)};
  });
}

int32_t weft_compilation_ready(const weft_compilation* compilation) {
  return compilation && compilation->kernel.wait_for(std::chrono::seconds(0)) == std::future_status::ready ? 1 : 0;
}

int32_t weft_compilation_kernel(const weft_compilation* compilation, weft_kernel** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_kernel*> {
    if (auto there = given(compilation, "compilation"); !there) return std::unexpected(there.error());
    const Expected<Kernel>& kernel = compilation->kernel.get();
    if (!kernel) return std::unexpected(kernel.error());
    return new weft_kernel{*kernel, {}, {}, {}, {}, {}};
  });
}

void weft_compilation_free(weft_compilation* compilation) { delete compilation; }

int32_t weft_kernel_run(const weft_kernel* kernel, const weft_bindings* bindings, const weft_cancellation* cancellation,
                        weft_evaluation** made, weft_error** error) {
  if (made) *made = nullptr;
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(bindings, "bindings")); !there) return there;
    auto results = kernel->kernel.run(bindings->bindings, cancellation ? &cancellation->cancellation : nullptr);
    if (!results) return std::unexpected(std::move(results.error()));
    if (made) *made = new weft_evaluation{std::move(*results), std::nullopt, true, {}, {}};
    return {};
  });
}

int32_t weft_kernel_symbolic(const weft_kernel* kernel, const weft_bindings* bindings, const weft_cancellation* cancellation,
                             weft_evaluation** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_evaluation*> {
    if (auto there = all(given(kernel, "kernel"), given(bindings, "bindings")); !there) return std::unexpected(there.error());
    auto results = kernel->kernel.symbolic(bindings->bindings, cancellation ? &cancellation->cancellation : nullptr);
    if (!results) return std::unexpected(std::move(results.error()));
    return new weft_evaluation{std::move(*results), std::nullopt, true, {}, {}};
  });
}

int32_t weft_kernel_scratch_bytes(const weft_kernel* kernel, const weft_bindings* bindings, uint64_t* bytes, weft_error** error) {
  if (bytes) *bytes = 0;
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(bindings, "bindings"), given(bytes, "bytes")); !there) return there;
    const auto wanted = kernel->kernel.scratch_bytes(bindings->bindings);
    if (!wanted) return std::unexpected(wanted.error());
    *bytes = *wanted;
    return {};
  });
}

int32_t weft_kernel_prepare(const weft_kernel* kernel, const weft_bindings* bindings, const weft_cancellation* cancellation,
                            weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(bindings, "bindings")); !there) return there;
    return kernel->kernel.prepare(bindings->bindings, cancellation ? &cancellation->cancellation : nullptr);
  });
}

int32_t weft_kernel_stage(weft_kernel* kernel, const char* stage, const char** text, uint64_t* bytes, weft_error** error) {
  if (text) *text = "";
  if (bytes) *bytes = 0;
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(stage, "stage"), given(text, "text")); !there) return there;
    const std::lock_guard lock(kernel->guard);
    auto found = kernel->stages.find(stage);
    if (found == kernel->stages.end()) {
      auto explained = kernel->kernel.explain(stage);
      if (!explained) return std::unexpected(std::move(explained.error()));
      found = kernel->stages.emplace(stage, std::move(*explained)).first;
    }
    *text = found->second.c_str();
    if (bytes) *bytes = found->second.size();
    return {};
  });
}

int32_t weft_kernel_save(weft_kernel* kernel, const void** saved, uint64_t* bytes, weft_error** error) {
  if (saved) *saved = nullptr;
  if (bytes) *bytes = 0;
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(saved, "saved"), given(bytes, "bytes")); !there) return there;
    const std::lock_guard lock(kernel->guard);
    if (kernel->saved.empty()) {
      auto packed = kernel->kernel.save();
      if (!packed) return std::unexpected(std::move(packed.error()));
      kernel->saved = std::move(*packed);
    }
    *saved = kernel->saved.data();
    *bytes = kernel->saved.size();
    return {};
  });
}

int32_t weft_kernel_save_file(const weft_kernel* kernel, const char* path, weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(path, "path")); !there) return there;
    return kernel->kernel.save_file(path);
  });
}

int32_t weft_engine_load(const weft_engine* engine, const void* saved, uint64_t bytes, weft_kernel** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_kernel*> {
    if (auto there = all(given(engine, "engine"), given(saved, "saved")); !there) return std::unexpected(there.error());
    auto kernel = engine->engine.load({static_cast<const char*>(saved), static_cast<std::size_t>(bytes)});
    if (!kernel) return std::unexpected(std::move(kernel.error()));
    return new weft_kernel{std::move(*kernel), {}, {}, {}, {}, {}};
  });
}

int32_t weft_engine_load_file(const weft_engine* engine, const char* path, weft_kernel** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_kernel*> {
    if (auto there = all(given(engine, "engine"), given(path, "path")); !there) return std::unexpected(there.error());
    auto kernel = engine->engine.load_file(path);
    if (!kernel) return std::unexpected(std::move(kernel.error()));
    return new weft_kernel{std::move(*kernel), {}, {}, {}, {}, {}};
  });
}

int32_t weft_kernel_report(weft_kernel* kernel, const char** json, weft_error** error) {
  if (json) *json = "";
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(json, "json")); !there) return there;
    const std::lock_guard lock(kernel->guard);
    if (kernel->json.empty()) kernel->json = report_json(kernel->kernel.report(), {}, false);
    *json = kernel->json.c_str();
    return {};
  });
}

int32_t weft_kernel_page(weft_kernel* kernel, const char** html, weft_error** error) {
  if (html) *html = "";
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(kernel, "kernel"), given(html, "html")); !there) return there;
    const std::lock_guard lock(kernel->guard);
    const auto report = kernel->kernel.measured();
    if (!report) return std::unexpected(report.error());
    const bool ran = !report->run_ms.empty();
    const bool faster = ran && report->run_ms.front() < 0.8 * kernel->shown_ms;
    if (kernel->pages.empty() || faster) kernel->pages.push_back(page(*report, {}, ran));
    if (faster) kernel->shown_ms = report->run_ms.front();
    *html = kernel->pages.back().c_str();
    return {};
  });
}

uint64_t weft_kernel_operand_count(const weft_kernel* kernel) { return kernel ? kernel->kernel.report().operands.size() : 0; }
const char* weft_kernel_operand(const weft_kernel* kernel, uint64_t number) {
  return kernel ? key_at(kernel->kernel.report().operands, number) : "";
}
uint64_t weft_kernel_result_count(const weft_kernel* kernel) { return kernel ? kernel->kernel.report().results.size() : 0; }
const char* weft_kernel_result(const weft_kernel* kernel, uint64_t number) {
  return kernel ? key_at(kernel->kernel.report().results, number) : "";
}

int32_t weft_kernel_result_format(const weft_kernel* kernel, uint64_t number, const char** format, int32_t* scalar, uint32_t* order,
                                  weft_error** error) {
  if (format) *format = "";
  return guarded(error, [&]() -> Expected<void> {
    const auto result = result_of(kernel, number);
    if (!result) return std::unexpected(result.error());
    if (format) *format = (*result)->format.c_str();
    if (scalar) *scalar = (*result)->scalar == name(Scalar::f32) ? WEFT_F32 : WEFT_F64;
    if (order) *order = static_cast<std::uint32_t>((*result)->extents.size());
    return {};
  });
}

int32_t weft_kernel_result_extent(const weft_kernel* kernel, uint64_t number, uint32_t mode, const char** operand, uint32_t* operand_mode,
                                  weft_error** error) {
  if (operand) *operand = "";
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(operand, "operand"), given(operand_mode, "operand_mode")); !there) return there;
    const auto result = result_of(kernel, number);
    if (!result) return std::unexpected(result.error());
    if (mode >= (*result)->modes.size()) {
      return input_error(fmt::format("mode {} of a result with {}: they begin at 0", mode, (*result)->modes.size()));
    }
    *operand = (*result)->modes[mode].operand.c_str();
    *operand_mode = (*result)->modes[mode].mode;
    return {};
  });
}

void weft_kernel_free(weft_kernel* kernel) { delete kernel; }

uint64_t weft_evaluation_count(const weft_evaluation* evaluation) {
  return evaluation ? evaluation->results.size() : 0;
}
const char* weft_evaluation_name(const weft_evaluation* evaluation, uint64_t number) {
  return evaluation ? name_at(evaluation->results, number) : "";
}

int32_t weft_evaluation_result(const weft_evaluation* evaluation, const char* name, weft_tensor** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_tensor*> {
    if (auto there = all(given(evaluation, "evaluation"), given(name, "name")); !there) return std::unexpected(there.error());
    const auto found = evaluation->results.find(name);
    if (found == evaluation->results.end()) return input_error(fmt::format("no result is named {}", name));
    return tensor_handle(found->second);
  });
}

int32_t weft_evaluation_report(weft_evaluation* evaluation, const char** json, weft_error** error) {
  if (json) *json = "";
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(evaluation, "evaluation"), given(json, "json")); !there) return there;
    if (!evaluation->report) return input_error("the run of a kernel has no report; weft_kernel_report tells of its plan");
    if (evaluation->json.empty()) evaluation->json = report_json(*evaluation->report, {}, evaluation->ran);
    *json = evaluation->json.c_str();
    return {};
  });
}

const char* weft_evaluation_explanation(const weft_evaluation* evaluation) {
  return evaluation && evaluation->report ? evaluation->report->explanation.c_str() : "";
}

int32_t weft_evaluation_stage(const weft_evaluation* evaluation, const char* stage, const char** text, uint64_t* bytes,
                              weft_error** error) {
  if (text) *text = "";
  if (bytes) *bytes = 0;
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(evaluation, "evaluation"), given(stage, "stage"), given(text, "text")); !there) return there;
    if (!evaluation->report) return input_error("the run of a kernel has no stages; weft_kernel_stage tells them");
    const auto found = evaluation->report->stages.find(stage);
    if (found == evaluation->report->stages.end()) {
      return input_error(fmt::format("the request did not ask for a stage named {}", stage));
    }
    *text = found->second.c_str();
    if (bytes) *bytes = found->second.size();
    return {};
  });
}

int32_t weft_evaluation_page(weft_evaluation* evaluation, const char** html, weft_error** error) {
  if (html) *html = "";
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(evaluation, "evaluation"), given(html, "html")); !there) return there;
    if (!evaluation->report) return input_error("the run of a kernel has no report; weft_kernel_page shows its plan");
    if (evaluation->page.empty()) evaluation->page = page(*evaluation->report, {}, evaluation->ran);
    *html = evaluation->page.c_str();
    return {};
  });
}

void weft_evaluation_free(weft_evaluation* evaluation) { delete evaluation; }
