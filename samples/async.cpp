// async: compiling beside the host's own work, and answers before the best kernel is ready.
#include <weft/file.h>
#include <weft/session.h>

#include <chrono>
#include <cstdio>
#include <future>

namespace {

int failed(const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main() {
  const auto engine = weft::Engine::create();
  if (!engine) return failed(engine.error());
  const weft::Resources resources;
  const auto tensor = weft::generate_tensor("sparse(300x200x100,nnz=5000,seed=1)", {}, resources, "T");
  const auto factor = weft::generate_tensor("uniform(200x16,seed=2)", {}, resources, "B");
  const auto other = weft::generate_tensor("uniform(100x16,seed=3)", {}, resources, "C");
  if (!tensor || !factor || !other) return std::fputs("no operands\n", stderr), 1;
  const weft::Tensors operands = {{"T", *tensor}, {"B", *factor}, {"C", *other}};
  const std::string mttkrp = "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)";

  // 1. Compiling starts on a thread of the engine's own; the future says when it is done, or the callback.
  std::promise<void> told;
  const auto future = engine->compile_async(mttkrp, operands, {}, [&](const weft::Expected<weft::Kernel>& kernel) {
    std::printf("compiled: %s\n", kernel ? kernel->report().tree.c_str() : kernel.error().message.c_str());
    told.set_value();
  });

  // 2. The host goes on meanwhile.
  int turns = 0;
  while (future.wait_for(std::chrono::microseconds(100)) != std::future_status::ready) ++turns;
  told.get_future().wait();
  const auto& kernel = future.get();
  if (!kernel) return failed(kernel.error());
  std::fprintf(stderr, "%d turns of the host while it compiled\n", turns);

  // 3. What is no longer wanted is cancelled; its future holds the error `cancelled`.
  const weft::Cancellation cancellation;
  cancellation.cancel();
  const auto unwanted = engine->compile_async("A(i,r) = T(i,j,k) * B(j,r)", operands, {}, {}, cancellation);
  if (unwanted.get() || unwanted.get().error().kind != weft::ErrorKind::cancelled) return 1;

  // 4. A session answers at once where it has a kernel of the text, be it for another tensor, and takes the kernel that
  //    is planned for the new one when that is ready.
  const weft::Session session(*engine);
  for (const auto& [name, each] : operands) session.set(name, each);
  if (const auto first = session.evaluate(mttkrp); !first) return failed(first.error());
  const auto denser = weft::generate_tensor("sparse(300x200x100,nnz=200000,seed=4)", {}, resources, "T");
  if (!denser) return failed(denser.error());
  session.set("T", *denser);
  for (int run = 0; run < 3; ++run) {
    const auto results = session.evaluate(mttkrp, weft::Answer::soonest);
    if (!results) return failed(results.error());
    std::printf("A is %s\n", results->at("A").summary().c_str());
  }
  return 0;
}
