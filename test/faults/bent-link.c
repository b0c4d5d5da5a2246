/*
 * A cable between this network namespace and another, made of two tun devices, that a test can bend: it loses a share of
 * all packets, delays each, or swallows everything without a word. A kernel without netem can have it too.
 *
 *   bent-link <file of the other namespace> <device here> <device there> <seed>
 *
 * Says "ready" when both devices are there. Then reads lines: "loss <per mille>", "delay <milliseconds>", "hole <0 or 1>",
 * and answers each with "done". Ends when its input ends; the devices go with it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* More than this on its way is lost, as in a real queue. */
#define QUEUED 8192
#define PACKET 65536

struct packet {
  int64_t due;
  int to;
  size_t length;
  char *bytes;
};

static struct packet queue[QUEUED];
static size_t first, waiting;
static long loss, delay, hole;
static uint64_t chance;

static void die(const char *what) {
  perror(what);
  exit(1);
}

static int device(const char *name) {
  struct ifreq wanted = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tun < 0) die("/dev/net/tun");
  strncpy(wanted.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(tun, TUNSETIFF, &wanted) < 0) die(name);
  return tun;
}

static int64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000LL + at.tv_nsec / 1000000;
}

/* xorshift: the same seed loses the same packets of the same traffic. */
static long of_thousand(void) {
  chance ^= chance << 13;
  chance ^= chance >> 7;
  chance ^= chance << 17;
  return chance % 1000;
}

static void take(int from, int to) {
  static char bytes[PACKET];
  for (;;) {
    ssize_t length = read(from, bytes, sizeof bytes);
    if (length <= 0) return;
    if (hole || of_thousand() < loss || waiting == QUEUED) continue;
    struct packet *packet = &queue[(first + waiting) % QUEUED];
    packet->bytes = malloc(length);
    if (!packet->bytes) continue;
    memcpy(packet->bytes, bytes, length);
    packet->length = length;
    packet->to = to;
    packet->due = now() + delay;
    waiting++;
  }
}

static void deliver(void) {
  while (waiting > 0 && queue[first].due <= now()) {
    struct packet *packet = &queue[first];
    /* A device that is down refuses: then the packet is lost. */
    if (!hole && write(packet->to, packet->bytes, packet->length) < 0) {
    }
    free(packet->bytes);
    first = (first + 1) % QUEUED;
    waiting--;
  }
}

static void obey(void) {
  char line[64];
  if (!fgets(line, sizeof line, stdin)) exit(0);
  if (sscanf(line, "loss %ld", &loss) + sscanf(line, "delay %ld", &delay) + sscanf(line, "hole %ld", &hole) > -3)
    puts("done");
}

int main(int count, char **words) {
  if (count != 5) return 2;
  setvbuf(stdin, NULL, _IONBF, 0);
  setvbuf(stdout, NULL, _IOLBF, 0);
  chance = strtoull(words[4], NULL, 10) | 1;
  int here = device(words[2]);
  int namespace = open(words[1], O_RDONLY | O_CLOEXEC);
  if (namespace < 0 || setns(namespace, CLONE_NEWNET) < 0) die(words[1]);
  int there = device(words[3]);
  puts("ready");
  struct pollfd ready[] = {{here, POLLIN, 0}, {there, POLLIN, 0}, {0, POLLIN, 0}};
  for (;;) {
    int64_t wait = waiting > 0 ? queue[first].due - now() : -1;
    if (waiting > 0 && wait < 0) wait = 0;
    if (poll(ready, 3, wait) < 0) die("poll");
    if (ready[2].revents) obey();
    if (ready[0].revents & POLLIN) take(here, there);
    if (ready[1].revents & POLLIN) take(there, here);
    deliver();
  }
}
