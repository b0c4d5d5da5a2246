/*
 * Moves the wall clock of one process: preloaded, it adds a number of milliseconds to what libc tells. The number lies in a
 * file of eight bytes (WALL_CLOCK_FILE) that a test writes at any time. Monotonic clocks stay as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_ms;

__attribute__((constructor)) static void open_file(void) {
  const char *path = getenv("WALL_CLOCK_FILE");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *place = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (place != MAP_FAILED) ahead_ms = place;
}

static void move(time_t *seconds, long *parts, long parts_in_second) {
  int64_t ms = ahead_ms ? *ahead_ms : 0;
  int64_t sum = *parts + ms % 1000 * (parts_in_second / 1000);
  *seconds += ms / 1000 + sum / parts_in_second - (sum < 0);
  *parts = (sum % parts_in_second + parts_in_second) % parts_in_second;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(id, at);
  if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
    move(&at->tv_sec, &at->tv_nsec, 1000000000L);
  return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int failed = real(at, zone);
  if (!failed) move(&at->tv_sec, &at->tv_usec, 1000000L);
  return failed;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
