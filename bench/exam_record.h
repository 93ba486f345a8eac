// ExamRecord: what the planner's exam measured of one network; figures, table and JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/error.h"

namespace weft::bench {

struct TimedSchedule {
  std::string text;
  double cost_ns = 0;     ///< predicted
  double ms = 0;
  bool abandoned = false;
};

struct ExamRecord {
  std::string name;
  bool held_out = false;
  double plan_ms = 0;
  double sampling_ms = 0;            ///< counting joins, once per data
  double chosen_ms = 0;              ///< in turn with the best
  double best_ms = 0;
  double counted_ms = 0;             ///< of the choice made with exact counts
  std::optional<double> earlier_ms;  ///< of what an earlier exam chose, if that is another schedule; in turn too
  std::string chosen;
  std::string explanation;           ///< of the chosen schedule
  std::string best;
  double cost_ns = 0;                ///< of the chosen schedule
  std::vector<TimedSchedule> timed;  ///< the chosen one first

  double regret() const { return chosen_ms / best_ms; }
  double counted_regret() const { return counted_ms / best_ms; }
  double correlation() const;
};

/// Spearman: of the ranks of two series, equal values sharing the mean of their ranks. NaN for fewer than two values or
/// a constant series.
double rank_correlation(const std::vector<double>& left, const std::vector<double>& right);

std::string exam_head();
std::string exam_row(const ExamRecord& record);
/// Median and worst regret, of networks used for fitting and of held-out ones.
std::string exam_summary(const std::vector<ExamRecord>& records);

Expected<void> write_exam(const std::string& path, const std::vector<ExamRecord>& records);
/// Milliseconds by network and text of the schedule; abandoned ones are negative.
Expected<std::map<std::string, std::map<std::string, double>>> read_exam(const std::string& path);
/// Texts of the schedules chosen there, by network.
Expected<std::map<std::string, std::string>> read_choices(const std::string& path);

}  // namespace weft::bench
