#include "frontend/known_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/operand_key.h"

namespace weft {
namespace {

void append(std::string& key, std::string_view text) {
  const std::uint64_t length = text.size();
  key.append(reinterpret_cast<const char*>(&length), sizeof length);
  key += text;
}

template <class Number>
void append_number(std::string& key, Number number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// The bindings name every member: a new one does not compile before it is decided here whether kernels depend on it.
void append_options(std::string& key, const CompileOptions& options, const Resources& resources) {
  const auto& [formats, patterns, results, tree, schedule, schedule_name, objective, unfused, prove, calls, specialize, changing,
               changing_patterns, assume_finite, assume_all_finite, scaled, strided, lent_results,
               choose_layouts] = options;
  // Proofs go as far as the memory that is left allows.
  if (prove && resources.memory.limit() != Memory::unlimited)
    append_number(key, std::bit_floor(resources.memory.limit() - std::min(resources.memory.limit(), resources.memory.used())));
  append_number(key, calls);
  key += static_cast<char>(specialize);
  key += static_cast<char>((unfused ? 1 : 0) | (prove ? 2 : 0) | (assume_all_finite ? 4 : 0) | (choose_layouts ? 8 : 0));
  for (const std::string* text : {&tree, &schedule, &schedule_name, &objective}) append(key, *text);
  const auto append_names = [&](const std::vector<std::string>& names) {
    append_number(key, names.size());
    for (const std::string& name : names) append(key, name);
  };
  append_names(results);
  append_names(changing);
  append_names(changing_patterns);
  append_names(assume_finite);
  append_names(scaled);
  append_names(strided);
  append_names(lent_results);
  append_number(key, patterns.size());
  for (const auto& [name, pattern] : patterns) {
    append(key, name);
    append(key, pattern);
  }
  append_number(key, formats.size());
  for (const auto& [name, format] : formats) {
    append(key, name);
    append_number(key, format.order());
    append_format_key(key, format);
  }
}

}  // namespace

KernelRequest::KernelRequest(std::string_view text, const Tensors& operands, const CompileOptions& options,
                             const Resources& resources) {
  key_.reserve(256);
  append(key_, text);
  ends_.push_back(key_.size());
  append_options(key_, options, resources);
  ends_.push_back(key_.size());
  std::size_t sparse = 0;
  for (const auto& [name, tensor] : operands) sparse += tensor.format().all_dense() ? 0 : 1;
  const bool by_pattern = sparse > 1 || options.specialize == Specialization::baked || options.specialize == Specialization::automatic ||
                          options.choose_layouts || resources.memory.limit() != Memory::unlimited;
  for (const auto& [name, tensor] : operands) {
    append(key_, name);
    append_operand_key(key_, tensor, by_pattern, resources);
    ends_.push_back(key_.size());
    names_.push_back(name);
  }
}

std::vector<KernelRequest::Part> KernelRequest::parts() const {
  std::vector<Part> parts;
  std::size_t begin = 0;
  for (std::size_t part = 0; part < ends_.size(); ++part) {
    std::string name(part == 0 ? "the text" : part == 1 ? "the options" : names_[part - 2]);
    if (part >= 2) begin += sizeof(std::uint64_t) + name.size();
    parts.push_back({std::move(name), key_.substr(begin, ends_[part] - begin)});
    begin = ends_[part];
  }
  return parts;
}

void KnownKernels::give_back() noexcept {
  (void)had_memory_for([&] { known_.clear(); });
  near_.clear();
  const std::lock_guard lock(mutex_);
  last_.clear();
}

std::string KnownKernels::missed(const KernelRequest& request) {
  const auto count = [&](Missed why) { counts_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed); };
  std::vector<KernelRequest::Part> parts = request.parts();
  std::string text = parts.front().bytes;
  const std::lock_guard lock(mutex_);
  if (last_.size() >= most_ && !last_.contains(text)) last_.clear();
  std::vector<KernelRequest::Part>& last = last_[std::move(text)];
  std::string why;
  if (last.empty()) {
    count(Missed::text);
    why = "a text that is new";
  } else if (parts[1].bytes != last[1].bytes) {
    count(Missed::options);
    why = "other options";
  } else if (!std::ranges::equal(parts, last, {}, &KernelRequest::Part::name, &KernelRequest::Part::name)) {
    count(Missed::operands);
    why = "other operands";
  } else {
    for (std::size_t part = 2; part < parts.size(); ++part) {
      const std::string differing = differing_parts(parts[part].bytes, last[part].bytes);
      if (differing.empty()) continue;
      if (why.empty()) {
        count(differing.starts_with("format")    ? Missed::format
              : differing.starts_with("extents") ? Missed::extents
              : differing.starts_with("pattern") ? Missed::pattern
                                                 : Missed::values);
      }
      why += fmt::format("{}{} of {}", why.empty() ? "other " : "; other ", differing, parts[part].name);
    }
    if (why.empty()) {
      count(Missed::text);
      why = "it was forgotten";
    }
  }
  last = std::move(parts);
  return why;
}

}  // namespace weft
