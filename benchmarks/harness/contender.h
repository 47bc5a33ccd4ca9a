// harness/contender.h: what is timed: one library, or one way to use ours, behind one interface.
#ifndef ENGINE_BENCHMARKS_HARNESS_CONTENDER_H_
#define ENGINE_BENCHMARKS_HARNESS_CONTENDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "harness/case.h"

namespace engine::benchmarks {

// A layout between two addresses, which stay valid for as long as what was prepared from it.
struct Task {
  const Case* layout;
  std::byte* dst;  // the first logical element of each side
  const std::byte* src;
};

// One task, prepared.
class Job {
 public:
  Job() = default;
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Runs it `times` times, each complete before the next; the loop is in here so that a call of a
  // few nanoseconds is not measured with a virtual call around it.
  virtual void Repeat(std::int64_t times) = 0;
};

template <typename Once>
class LambdaJob final : public Job {
 public:
  explicit LambdaJob(Once once) : once_(std::move(once)) {}
  void Repeat(std::int64_t times) override {
    for (; times > 0; --times) {
      once_();
      std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler keeps every run
    }
  }

 private:
  Once once_;
};

template <typename Once>
[[nodiscard]] std::unique_ptr<Job> MakeJob(Once once) {
  return std::make_unique<LambdaJob<Once>>(std::move(once));
}

class Contender {
 public:
  Contender() = default;
  virtual ~Contender() = default;
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string version() const { return ""; }

  // Null when the library has no such operation.
  [[nodiscard]] virtual std::unique_ptr<Job> Prepare(const Task& task) = 0;

  // Why the library may produce other bytes than ours; empty when they must be equal.
  [[nodiscard]] virtual std::string Difference(const Case& /*layout*/) const { return ""; }
};

// memcpy of as many bytes as the task reads and writes together: half of them read, half written.
// Both sides must have room for total_bytes() / 2.
[[nodiscard]] std::unique_ptr<Contender> MakeMemcpy();

// A loop nest in logical order, as one would write it, compiled for this machine with everything
// the compiler has (-O3 -march=native). Does not check what it converts.
[[nodiscard]] std::unique_ptr<Contender> MakeNaive();

// CopyPlan: made once, run again and again, every run checked.
[[nodiscard]] std::unique_ptr<Contender> MakePlan();

// ops::copy, or ops::cast_into when the dtypes differ.
[[nodiscard]] std::unique_ptr<Contender> MakeOps();

// ops::cast, which allocates its result; dtypes that differ only.
[[nodiscard]] std::unique_ptr<Contender> MakeAllocatingCast();

}  // namespace engine::benchmarks

#endif  // ENGINE_BENCHMARKS_HARNESS_CONTENDER_H_
