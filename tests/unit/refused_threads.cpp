#include "unit/refused_threads.h"

#include <cerrno>
#include <pthread.h>

#include <atomic>

namespace refused_threads {
namespace {

std::atomic<int> allowed_threads{INT_MAX};
std::atomic<int> asked_threads{0};

}  // namespace

Refusing::Refusing(int allowed) {
  asked_threads = 0;
  allowed_threads = allowed;
}
Refusing::~Refusing() { allowed_threads = INT_MAX; }
int Refusing::asked() const { return asked_threads; }

}  // namespace refused_threads

extern "C" {

// NOLINTBEGIN: names that the linker gives
int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  if (refused_threads::asked_threads++ >= refused_threads::allowed_threads) return EAGAIN;
  return __real_pthread_create(thread, attributes, start, argument);
}
// NOLINTEND
}
