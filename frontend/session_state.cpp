#include "frontend/session_state.h"

#include <algorithm>
#include <mutex>

#include "engine/specialize.h"
#include "frontend/engine_state.h"
#include "frontend/preparation.h"
#include "runtime/guarded.h"

namespace weft {

Tensors chosen(const Tensors& tensors, const std::vector<std::string>& names) {
  Tensors some;
  for (const std::string& name : names) {
    const auto known = tensors.find(name);
    if (known != tensors.end()) some.insert(*known);
  }
  return some;
}

Session::State::State(Engine made)
    : engine(std::move(made)), table_{std::make_shared<const Tensors>(), 0} {}

Session::State::Table Session::State::table() const {
  const std::shared_lock lock(mutex_);
  return table_;
}

void Session::State::replace(const std::string& name, std::optional<Tensor> tensor) {
  // Freed when the lock is: memory of runs may take long.
  std::vector<std::pair<std::shared_ptr<KnownText>*, std::shared_ptr<KnownText>>> stale;  // where one is, and what takes its place
  {
    const std::unique_lock lock(mutex_);
    // All that needs memory comes before the first change: a tensor is replaced for every text or for none.
    auto tensors = std::make_shared<Tensors>(*table_.tensors);
    if (tensor) {
      (*tensors)[name] = std::move(*tensor);
    } else {
      tensors->erase(name);
    }
    for (auto& [text, known] : texts_) {
      if (!known->bindings || std::ranges::find(known->operands, name) == known->operands.end()) continue;
      auto without = std::make_shared<KnownText>(known->kernel, known->operands);
      without->last_used = known->last_used.load(std::memory_order_relaxed);
      stale.emplace_back(&known, std::move(without));
    }
    std::uint64_t& time = replaced_[name];
    table_ = {std::move(tensors), table_.time + 1};
    time = table_.time;
    for (auto& [known, without] : stale) std::swap(*known, without);
    version_.fetch_add(1, std::memory_order_release);
  }
  near_.clear();
}

void Session::State::set(const std::string& name, std::optional<Tensor> tensor) {
  const bool replaced = had_memory_for([&] { replace(name, std::move(tensor)); });
  const std::unique_lock lock(mutex_);
  if (replaced) {
    unset_.forget(name);
  } else {
    unset_.note(name);
  }
  failed_.store(!unset_.empty(), std::memory_order_release);
}

std::optional<Error> Session::State::failure() const {
  if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
  const std::shared_lock lock(mutex_);
  if (unset_.empty()) return std::nullopt;
  return out_of_memory({"setting ", unset_.first()});
}

std::shared_ptr<const KnownText> Session::State::find(std::string_view text) const {
  const auto version = [&] { return version_.load(std::memory_order_acquire); };
  const std::uint64_t now = version();
  const auto used = [&]() -> std::shared_ptr<const KnownText> {
    const std::shared_lock lock(mutex_);
    const auto known = texts_.find(text);
    if (known == texts_.end()) return nullptr;
    known->second->last_used.store(uses_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    return known->second;
  };
  if (auto near = near_.find(text, now, used)) return std::move(*near);
  std::shared_ptr<const KnownText> found = used();
  if (found && found->bindings) near_.keep(text, now, version, [&] { return apart(*found); });
  return found;
}

std::shared_ptr<const KnownText> Session::State::apart(const KnownText& known) {
  auto other = std::make_shared<KnownText>(Engine::Kernels::apart(known.kernel), known.operands);
  other->bindings = known.bindings;
  if (other->bindings) other->bindings->separate();
  other->best = known.best;
  return other;
}

Bindings Session::State::bound(const Tensors& operands) const {
  Bindings bindings;
  if (auto failure = bindings.failure()) throw std::bad_alloc();
  for (const auto& [name, tensor] : operands) bindings.put(name, tensor, {.trusted = true});
  return bindings;
}

void Session::State::keep(std::string_view text, std::shared_ptr<KnownText> known, const Table& table) {
  std::vector<std::shared_ptr<KnownText>> forgotten;  // freed after the lock
  {
    const std::unique_lock lock(mutex_);
    const bool stale = std::ranges::any_of(known->operands, [&](const std::string& name) {
      const auto when = replaced_.find(name);
      return when != replaced_.end() && when->second > table.time;
    });
    if (stale) return;
    const auto place = texts_.find(text);
    if (place != texts_.end() && place->second->bindings && place->second->best && !known->best) return;
    known->last_used = uses_.fetch_add(1, std::memory_order_relaxed);
    version_.fetch_add(1, std::memory_order_release);
    if (place != texts_.end()) {
      forgotten.push_back(std::exchange(place->second, std::move(known)));
    } else {
      if (texts_.size() >= most_texts) forget_oldest(forgotten);
      texts_.emplace(text, std::move(known));
    }
  }
  near_.clear();
}

void Session::State::forget_oldest(std::vector<std::shared_ptr<KnownText>>& forgotten) {
  // An eighth at a time, so that finding the oldest costs little for each.
  std::vector<std::uint64_t> ages;
  for (const auto& [one, other] : texts_) ages.push_back(other->last_used.load(std::memory_order_relaxed));
  std::ranges::nth_element(ages, ages.begin() + most_texts / 8);
  const std::uint64_t oldest = ages[most_texts / 8];
  std::erase_if(texts_, [&](auto& one) {
    if (one.second->last_used.load(std::memory_order_relaxed) >= oldest) return false;
    forgotten.push_back(std::move(one.second));
    return true;
  });
}

void Session::State::improve(const std::string& text, const std::vector<std::string>& operands, const Table& table) {
  const Tensors tensors = chosen(*table.tensors, operands);
  engine.compile_async(text, tensors, {},
                       [weak = weak_from_this(), text, operands, table, tensors](const Expected<Kernel>& kernel) {
                         const auto state = weak.lock();
                         if (!state || !kernel) return;  // the other kernel goes on answering
                         (void)had_memory_for([&] {
                           auto better = std::make_shared<KnownText>(*kernel, operands);
                           better->bindings = state->bound(tensors);
                           state->keep(text, std::move(better), table);
                         });
                       });
}

Expected<Tensors> Session::State::evaluate(std::string_view text, Answer answer, const std::shared_ptr<const KnownText>& known,
                                           const Cancellation* cancellation) {
  const Table now = table();
  const RequestText request(text, among(*now.tensors));
  // Index notation reads the same names whatever tensors there are.
  const bool is_known = known && text.find_first_of("([") != std::string_view::npos;
  const auto names = is_known ? Expected<std::vector<std::string>>(known->operands) : request.operands();
  if (!names) return std::unexpected(names.error());
  const Tensors operands = chosen(*now.tensors, *names);
  if (answer == Answer::soonest) {
    // The best kernel, if the caches have it. Else any of the text will do, or a generic one: others may have made it for other
    // sizes, and it is the cheapest.
    const Resources& resources = engine.options().resources;
    const auto inputs = named_facts(operands, cancellation ? resources.with(*cancellation) : resources);
    if (!inputs) return std::unexpected(inputs.error());
    Expected<Kernel> kernel = engine.state_->compile(request, *inputs, {}, cancellation,
                                                     known ? CodeFrom::caches : CodeFrom::caches_or_generic);
    const bool best = kernel && kernel->report().specialization != name(Specialization::generic);
    if (!kernel && known && kernel.error().kind == ErrorKind::unsupported && known->operands == *names) kernel = known->kernel;
    if (!kernel) return std::unexpected(kernel.error());
    auto other = std::make_shared<KnownText>(std::move(*kernel), *names);
    other->bindings = bound(operands);
    other->best = best;
    auto results = other->kernel.run(*other->bindings, cancellation);
    if (results) {
      keep(text, std::move(other), now);
      if (!best) improve(std::string(text), *names, now);
    }
    if (results || results.error().kind == ErrorKind::cancelled) return results;
  }
  const Engine::State& made_by = *engine.state_;
  const Cancellation& token = cancellation ? *cancellation : engine.options().resources.cancellation;
  auto kernel = guarded({"compiling ", text}, [&] {
    return made_by.kernels->compile(made_by.pipeline, made_by.machine, request, operands, {}, token);
  });
  if (!kernel) return std::unexpected(kernel.error());
  const auto made = std::make_shared<KnownText>(std::move(*kernel), *names);
  made->bindings = bound(operands);
  keep(text, made, now);
  return made->kernel.run(*made->bindings, cancellation);
}

}  // namespace weft
