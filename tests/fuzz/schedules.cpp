// Schedules, and the plans of the disk cache: what check() takes for legal computes what the network means.
#include "engine/plan/plan.h"
#include "engine/plan/schedule/check.h"
#include "engine/plan_cache.h"
#include "fuzz/built_text.h"
#include "fuzz/target.h"

namespace weft::fuzz {

/// First line: an expression. Below: a schedule for it.
void schedule(Bytes bytes) {
  const TwoTexts texts = cut_first_line(bytes);
  const auto text = built_text(texts.first);
  if (!text) return;
  const Network& network = text->built.network;
  const auto parsed = parse_schedule(texts.rest, network);
  if (!parsed)
    return require(parsed.error().kind == ErrorKind::input || parsed.error().kind == ErrorKind::unsupported,
                   parsed.error().message);
  const auto legal = check(*parsed, Problem{network, text->built.facts, {}});
  if (!legal) return require(legal.error().kind != ErrorKind::internal, legal.error().message);
  const std::string printed = print(*parsed, network);
  const auto again = parse_schedule(printed, network);
  require(again.has_value(), [&] { return "a print is not read: " + again.error().message + "\n" + printed; });
  require(*again == *parsed, [&] { return "another schedule is read than\n" + printed; });
  const auto given = plan_given(*parsed, Problem{network, text->built.facts, {}});
  require(given.has_value() || given.error().kind != ErrorKind::internal, "a legal schedule is no plan");
  check_schedule(*parsed, *text);
}

/// First line: an expression. Below: the text of a plan as the disk cache keeps it, whose checksum held.
void plan_entry(Bytes bytes) {
  const TwoTexts texts = cut_first_line(bytes);
  const auto text = built_text(texts.first);
  if (!text) return;
  const Network& network = text->built.network;
  const auto plan = restored_plan(texts.rest, network, text->built.facts, {});
  if (!plan) return require(!plan.error().message.empty(), "an error without a message");
  require(print_plan(*plan, network).find("schedule\n") != std::string::npos, "a plan without a schedule");
  check_schedule(plan->schedule, *text);
  if (plan->runner_up) check_schedule(*plan->runner_up, *text);
}

}  // namespace weft::fuzz
