// Two processes exchange tensors through shared memory: see options.cpp for what it shows.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "channel.h"
#include "core/errno_status.h"
#include "core/status.h"
#include "options.h"
#include "receiver.h"
#include "sender.h"
#include "stream.h"

namespace tensor_channel {
namespace {

namespace core = engine::core;

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

int Fail(const core::Status& status, int exit_code) {
  std::fputs(fmt::format("tensor_channel: {}\n", std::string(status.message())).c_str(), stderr);
  return exit_code;
}

std::string DescribeKind(const char* name, const engine::tensor::Tensor& tensor,
                         std::uint32_t count, const std::string& remark) {
  return fmt::format("{:<9} {:<8} {:<18} {:>7} bytes  {:>6} messages{}\n", name, tensor.dtype(),
                     fmt::format("{}", tensor.shape()), tensor.nbytes(), count, remark);
}

std::string Describe(Report& report, const Options& options, const Stream& stream) {
  std::string text = DescribeKind(kImage, stream.at(0), report.images, "");
  text +=
      DescribeKind(kFeatures, stream.at(1), report.features,
                   fmt::format(", dequantised: (q - {}) * {}", kFeatureZeroPoint, kFeatureScale));
  text +=
      fmt::format("{} of {} messages arrived unchanged, {} refused, {} copied at the receiver\n",
                  report.verified(), options.messages, report.refused, report.copied);
  if (report.seconds > 0) {
    text += fmt::format("{:.0f} messages/s, {:.2f} GiB/s, every byte compared\n",
                        report.verified() / report.seconds,
                        static_cast<double>(report.bytes) / report.seconds / (1 << 30));
  }
  std::vector<std::uint64_t>& latencies = report.latencies_ns;
  if (!latencies.empty()) {
    std::sort(latencies.begin(), latencies.end());
    const auto at = [&](std::size_t percent) {
      return static_cast<double>(latencies[(latencies.size() - 1) * percent / 100]) * 1e-3;
    };
    text += fmt::format(
        "latency from encoding to tensor, us: {:.1f} least, {:.1f} median, {:.1f} p99, {:.1f} "
        "most\n",
        at(0), at(50), at(99), at(100));
  }
  return text;
}

// The child sends, this process receives and reports.
core::Status Run(const Options& options) {
  ENGINE_ASSIGN_OR_RETURN(const Stream stream, Stream::Make());
  std::size_t slot_bytes = stream.max_message_bytes();
  ENGINE_ASSIGN_OR_RETURN(const Descriptor memory, MakeSharedMemory(options.slots, slot_bytes));
  ENGINE_ASSIGN_OR_RETURN(SocketPair sockets, MakeSocketPair());
  const pid_t child = fork();
  if (child < 0) return core::ErrnoError(errno, "fork");
  if (child == 0) {
    { const Descriptor unused = std::move(sockets.receiver); }
    core::StatusOr<SharedSlots> slots =
        SharedSlots::Map(memory, options.slots, slot_bytes, /*writable=*/true);
    const core::Status status =
        slots.ok() ? RunSender(options, stream, *slots, sockets.sender) : slots.status();
    // Without the parent's exit handlers and buffers.
    _exit(status.ok() ? 0 : Fail(status, kExitFailure));
  }
  { const Descriptor unused = std::move(sockets.sender); }
  core::StatusOr<Report> report = core::InternalError("the receiver did not run");
  {
    const Descriptor socket = std::move(sockets.receiver);
    const core::StatusOr<SharedSlots> slots =
        SharedSlots::Map(memory, options.slots, slot_bytes, /*writable=*/false);
    report = slots.ok() ? RunReceiver(options, stream, *slots, socket)
                        : core::StatusOr<Report>(slots.status());
  }  // closed, so that a sender in trouble ends too
  int child_status = 0;
  while (waitpid(child, &child_status, 0) < 0) {
    if (errno != EINTR) return core::ErrnoError(errno, "waitpid");
  }
  if (!report.ok()) return report.status();
  const std::string text = Describe(*report, options, stream);
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    return core::InternalError("cannot write to standard output");
  }
  if (!report->first_failure.empty()) {
    return core::InvalidArgumentError("{}", report->first_failure);
  }
  if (report->verified() != options.messages || report->copied != 0 || child_status != 0) {
    return core::InternalError("the stream is not complete (sender's status {})", child_status);
  }
  return core::OkStatus();
}

int Main(std::span<char* const> arguments) {
  const core::StatusOr<Options> options = ParseOptions(arguments);
  if (!options.ok()) return Fail(options.status(), kExitUsage);
  if (options->help) return std::fputs(kUsage, stdout) < 0 ? kExitFailure : 0;
  const core::Status status = Run(*options);
  return status.ok() ? 0 : Fail(status, kExitFailure);
}

}  // namespace
}  // namespace tensor_channel

int main(int argc, char** argv) {
  return tensor_channel::Main({argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0)});
}
