// weft.h: errors, cancellation, options, engines.
#include <fmt/format.h>

#include <functional>

#include "engine/cache/disk_cache.h"
#include "frontend/c_api.h"
#include "frontend/calibration.h"
#include "runtime/charge.h"

namespace weft::c_api {
namespace {

/// What is handed over where not even an error object can be allocated.
const weft_error& out_of_memory() {
  static const weft_error error{{.kind = ErrorKind::resource, .message = "out of memory", .code = ErrorCode::out_of_memory}};
  return error;
}

std::int32_t number(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return WEFT_INPUT;
    case ErrorKind::unsupported:
      return WEFT_UNSUPPORTED;
    case ErrorKind::resource:
      return WEFT_RESOURCE;
    case ErrorKind::cancelled:
      return WEFT_CANCELLED;
    case ErrorKind::internal:
      break;
  }
  return WEFT_INTERNAL;
}

static_assert(static_cast<int>(ErrorCode::syntax) == WEFT_CODE_SYNTAX && static_cast<int>(ErrorCode::order) == WEFT_CODE_ORDER &&
              static_cast<int>(ErrorCode::out_of_memory) == WEFT_CODE_OUT_OF_MEMORY &&
              static_cast<int>(ErrorCode::pattern_changed) == WEFT_CODE_PATTERN_CHANGED &&
              static_cast<int>(ErrorCode::file) == WEFT_CODE_FILE);

}  // namespace

std::int32_t refused(weft_error** error, Error reason) noexcept {
  const std::int32_t kind = number(reason.kind);
  if (!error) return kind;
  const weft_error& fallback = out_of_memory();
  // std::bad_alloc brings no message.
  *error = reason.message.empty() && reason.kind == ErrorKind::resource
               ? nullptr
               : new (std::nothrow) weft_error{std::move(reason)};
  if (!*error) *error = const_cast<weft_error*>(&fallback);
  return number((*error)->error.kind);
}

Expected<void> given(const void* pointer, std::string_view argument) {
  if (pointer) return {};
  return input_error(fmt::format("argument '{}' is NULL", argument));
}

}  // namespace weft::c_api

using namespace weft;
using namespace weft::c_api;

namespace {

Progress progress_of(weft_progress_callback callback, void* context) {
  if (!callback) return {};
  return [callback, context](std::string_view what, double fraction) { callback(context, std::string(what).c_str(), fraction); };
}

/// An engine that shares another's threads and memory account has none that could be set.
Expected<void> not_shared(const weft_options& options, std::string_view what) {
  if (!options.shared) return {};
  return fail(ErrorKind::input, ErrorCode::option, {},
              fmt::format("{} cannot be set for an engine that shares those of another (weft_options_share); NULL there ends the sharing",
                          what));
}

}  // namespace

const char* weft_version(void) { return WEFT_VERSION; }

int32_t weft_error_kind(const weft_error* error) { return error ? number(error->error.kind) : WEFT_OK; }
const char* weft_error_message(const weft_error* error) { return error ? error->error.message.c_str() : ""; }
int32_t weft_error_code(const weft_error* error) { return error ? static_cast<std::int32_t>(error->error.code) : WEFT_CODE_OTHER; }
const char* weft_error_operand(const weft_error* error) { return error ? error->error.operand.c_str() : ""; }
const char* weft_error_index(const weft_error* error) { return error ? error->error.index.c_str() : ""; }
const char* weft_error_option(const weft_error* error) { return error ? error->error.option.c_str() : ""; }
int32_t weft_error_position(const weft_error* error, uint64_t* offset, uint64_t* line, uint64_t* column) {
  if (!error || !error->error.position) return 0;
  const TextPosition& position = *error->error.position;
  if (offset) *offset = position.offset;
  if (line) *line = position.line;
  if (column) *column = position.column;
  return 1;
}
void weft_error_free(weft_error* error) {
  if (error != &out_of_memory()) delete error;
}

int32_t weft_cancellation_create(weft_cancellation** made, weft_error** error) {
  return making(made, error, []() -> Expected<weft_cancellation*> { return new weft_cancellation; });
}
void weft_cancellation_cancel(weft_cancellation* cancellation) {
  if (cancellation) cancellation->cancellation.cancel();
}
int32_t weft_cancellation_cancelled(const weft_cancellation* cancellation) {
  return cancellation && cancellation->cancellation.cancelled() ? 1 : 0;
}
void weft_cancellation_free(weft_cancellation* cancellation) { delete cancellation; }

int32_t weft_options_create(weft_options** made, weft_error** error) {
  return making(made, error, []() -> Expected<weft_options*> {
    auto options = std::make_unique<weft_options>();
    auto opened = options->options.resources.memory.charge(0, "an account of memory");
    if (!opened) return std::unexpected(std::move(opened.error()));
    return options.release();
  });
}

int32_t weft_options_set_threads(weft_options* options, uint32_t count, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    if (auto own = not_shared(*options, "threads"); !own) return own;
    options->threads = count;
    return {};
  });
}

int32_t weft_options_share(weft_options* options, const weft_engine* engine, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    options->shared.reset();
    if (engine) options->shared = engine->engine;
    return {};
  });
}

int32_t weft_options_set_thread_loop(weft_options* options, uint32_t count, weft_loop_callback loop, void* context, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    if (auto own = not_shared(*options, "a loop of threads"); !own) return own;
    options->arena.reset();
    if (!loop) return {};
    if (count == 0) return input_error("a loop of the host over 0 threads: at least 1 is needed");
    options->arena = Threads(count, [loop, context](unsigned slots, const std::function<void(unsigned)>& body) {
      const auto call = [](void* state, std::uint32_t slot) { (*static_cast<const std::function<void(unsigned)>*>(state))(slot); };
      loop(context, slots, call, const_cast<std::function<void(unsigned)>*>(&body));
    });
    return {};
  });
}

int32_t weft_options_set_caller_arena(weft_options* options, uint32_t count, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    options->arena = Threads::of_caller(count);
    return {};
  });
}

int32_t weft_options_set_kernels_in_memory(weft_options* options, uint64_t count, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    if (count == 0) return input_error("0 kernels in memory: at least 1 is kept; see weft_options_set_use_cache");
    options->options.kernels_in_memory = count;
    return {};
  });
}

int32_t weft_options_set_perf_map(weft_options* options, int32_t perf_map, weft_error** error) {
  return setting_flag(options, "options", &EngineOptions::perf_map, perf_map, error);
}

int32_t weft_options_set_memory_limit(weft_options* options, uint64_t bytes, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    if (auto own = not_shared(*options, "a memory limit"); !own) return own;
    Memory limited(bytes);
    if (auto opened = limited.charge(0, "an account of memory"); !opened) return std::unexpected(std::move(opened.error()));
    options->options.resources.memory = std::move(limited);
    return {};
  });
}

int32_t weft_options_set_cache_directory(weft_options* options, const char* directory, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    if (!directory) {
      options->options.cache_directory.reset();
    } else if (*directory == '\0') {
      options->options.cache_directory = DiskCache::default_directory();
    } else {
      options->options.cache_directory = directory;
    }
    return {};
  });
}

int32_t weft_options_set_paranoid(weft_options* options, int32_t paranoid, weft_error** error) {
  return setting_flag(options, "options", &EngineOptions::paranoid, paranoid, error);
}

int32_t weft_options_set_dump_directory(weft_options* options, const char* directory, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    options->options.dump_directory.reset();
    if (directory) options->options.dump_directory = directory;
    return {};
  });
}

int32_t weft_options_set_use_cache(weft_options* options, int32_t use, weft_error** error) {
  return setting_flag(options, "options", &EngineOptions::use_cache, use, error);
}

int32_t weft_options_set_deterministic(weft_options* options, int32_t deterministic, weft_error** error) {
  return setting_flag(options, "options", &EngineOptions::deterministic, deterministic, error);
}

int32_t weft_options_set_strict_fp(weft_options* options, int32_t strict, weft_error** error) {
  return setting_flag(options, "options", &EngineOptions::strict_fp, strict, error);
}

int32_t weft_options_set_checked(weft_options* options, int32_t checked, weft_error** error) {
  return setting_flag(options, "options", &EngineOptions::checked, checked, error);
}

int32_t weft_options_set_calibration(weft_options* options, const char* text, const char* name, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    if (auto there = given(text, "text"); !there) return there;
    options->options.calibration = text;
    options->options.calibration_name = name ? name : "calibration";
    return {};
  });
}

int32_t weft_options_set_calibration_file(weft_options* options, const char* path, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    auto read = calibration_text(path ? std::optional<std::string>(path) : std::nullopt);
    if (!read) return std::unexpected(read.error());
    options->options.calibration = std::move(read->text);
    options->options.calibration_name = std::move(read->name);
    return {};
  });
}

int32_t weft_options_set_cancellation(weft_options* options, const weft_cancellation* cancellation, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    options->options.resources.cancellation = cancellation ? cancellation->cancellation : Cancellation();
    return {};
  });
}

int32_t weft_options_set_progress(weft_options* options, weft_progress_callback callback, void* context, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    options->options.resources.progress = progress_of(callback, context);
    return {};
  });
}

int32_t weft_options_set_trace(weft_options* options, weft_line_callback callback, void* context, weft_error** error) {
  return setting(options, "options", error, [&]() -> Expected<void> {
    options->options.trace = nullptr;
    if (callback) {
      options->options.trace = [callback, context](std::string_view line) { callback(context, std::string(line).c_str()); };
    }
    return {};
  });
}

void weft_options_free(weft_options* options) { delete options; }

int32_t weft_engine_create(const weft_options* options, weft_engine** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_engine*> {
    EngineOptions chosen;
    if (options) chosen = options->options;
    // An account and workers of its own: engines made from the same options share neither.
    chosen.resources.memory = Memory(chosen.resources.memory.limit());
    chosen.resources.threads = options && options->arena ? *options->arena : Threads(options ? options->threads : 0);
    if (options && options->shared) {
      const Resources& shared = options->shared->options().resources;
      chosen.resources.memory = shared.memory;
      chosen.resources.threads = shared.threads;
    }
    auto engine = Engine::create(std::move(chosen));
    if (!engine) return std::unexpected(std::move(engine.error()));
    return new weft_engine{std::move(*engine)};
  });
}

int32_t weft_engine_with(const weft_engine* engine, const weft_cancellation* cancellation, weft_progress_callback progress,
                         void* context, weft_engine** made, weft_error** error) {
  return making(made, error, [&]() -> Expected<weft_engine*> {
    if (auto there = given(engine, "engine"); !there) return std::unexpected(there.error());
    Resources own = cancellation ? engine->resources().with(cancellation->cancellation) : engine->resources();
    if (progress) own.progress = progress_of(progress, context);
    return new weft_engine{engine->engine, std::move(own)};
  });
}

uint32_t weft_engine_threads(const weft_engine* engine) { return engine ? engine->resources().threads.count() : 0; }
uint64_t weft_engine_memory_used(const weft_engine* engine) { return engine ? engine->resources().memory.used() : 0; }
uint64_t weft_engine_memory_peak(const weft_engine* engine) { return engine ? engine->resources().memory.peak() : 0; }
uint64_t weft_engine_memory_limit(const weft_engine* engine) { return engine ? engine->resources().memory.limit() : 0; }
const char* weft_engine_cache_directory(const weft_engine* engine) {
  return engine && engine->engine.options().cache_directory ? engine->engine.options().cache_directory->c_str() : "";
}

int32_t weft_engine_counter(const weft_engine* engine, const char* name, uint64_t* value, weft_error** error) {
  if (value) *value = 0;
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = all(given(engine, "engine"), given(name, "name"), given(value, "value")); !there) return there;
    constexpr std::pair<std::string_view, std::uint64_t CacheCounters::*> known[] = {
        {"memory", &CacheCounters::memory},         {"disk", &CacheCounters::disk},
        {"compiled", &CacheCounters::compiled},     {"generic", &CacheCounters::generic},
        {"profiled", &CacheCounters::profiled},     {"baked", &CacheCounters::baked},
        {"fallbacks", &CacheCounters::fallbacks},   {"plans_memory", &CacheCounters::plans_memory},
        {"plans_disk", &CacheCounters::plans_disk}, {"plans_made", &CacheCounters::plans_made},
        {"known", &CacheCounters::known},           {"missed_text", &CacheCounters::missed_text},
        {"missed_options", &CacheCounters::missed_options},     {"missed_operands", &CacheCounters::missed_operands},
        {"missed_format", &CacheCounters::missed_format},       {"missed_extents", &CacheCounters::missed_extents},
        {"missed_pattern", &CacheCounters::missed_pattern},     {"missed_values", &CacheCounters::missed_values},
        {"layouts_made", &CacheCounters::layouts_made},         {"layouts_known", &CacheCounters::layouts_known},
        {"layouts_refilled", &CacheCounters::layouts_refilled}, {"layouts_read_through", &CacheCounters::layouts_read_through},
        {"idle_bytes", &CacheCounters::idle_bytes}};
    for (const auto& [text, counter] : known) {
      if (text != name) continue;
      *value = engine->engine.counters().*counter;
      return {};
    }
    return input_error(fmt::format("no counter is named '{}'", name));
  });
}

int32_t weft_engine_for_each(const weft_engine* engine, uint64_t tasks, weft_task_callback body, void* context, weft_error** error) {
  return guarded(error, [&]() -> Expected<void> {
    if (auto there = given(engine, "engine"); !there) return there;
    if (!body) return input_error("argument 'body' is NULL");
    engine->resources().threads.for_each(tasks, [&](std::size_t task, unsigned slot) { body(context, task, slot); });
    return {};
  });
}

void weft_engine_give_back(const weft_engine* engine) {
  if (engine) engine->engine.give_back();
}

void weft_engine_free(weft_engine* engine) { delete engine; }
