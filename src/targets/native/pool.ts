/**
 * @file The thread pool: a small C library of its own, loaded once per process and shared by all programs.
 *
 * A launch publishes a job and works on it itself; workers that come in time join. Everyone begins with a share of the
 * pieces that is the same for every job of that length, so that what a thread wrote in one job is still near in the
 * next, and takes pieces of others when its own are used up. The caller never waits for a worker that has not started:
 * when the pieces are used up it closes the job and waits only for pieces being computed. So a busy machine costs
 * parallelism, not time. Workers spin for some tens of microseconds after a job, since the next is often near, then
 * sleep. Waking one costs as much as a small job, so that is done only once enough work has come by.
 *
 * One job runs at a time. A launch that finds the pool taken (from another JavaScript thread, or from inside a
 * piece) runs serially. Which thread computes a piece never changes a result.
 */
export const POOL_SYMBOL = "lockstep_pool";

export const POOL_SOURCE = `/* lockstep thread pool */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#ifdef __APPLE__
#include <dlfcn.h>
#endif

#define MAX_WORKERS 255
#define SPINS 1500
#define OPEN 0x80000000ull
#define ACTIVE 0x7fffffffull
#define PIECES_PER_THREAD 4
/* Nanoseconds of work that must have come by before sleeping workers are woken (or first made) for it. */
#define WAKE_WORK 120000

typedef void (*piece_function)(void *, int, int);

/* Written by the launching thread while no worker is active, read by workers that joined. */
static struct { piece_function piece; void *frame; int count, length, pieces, parties; } job;

/* Generation in the upper half, OPEN, number of active workers; apart from what changes at another pace. */
static struct { _Alignas(128) atomic_ullong word; } state;
/* The next piece of each party's share; the launching thread is party 0. */
static struct { _Alignas(128) atomic_int next; } cursors[MAX_WORKERS + 1];
static struct { _Alignas(128) atomic_int left; } seats;
static struct { _Alignas(128) atomic_int busy; } owner;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static atomic_int sleepers, waiting;
/* Only touched by the thread that owns the pool. */
static int started;
static long long passed_by;

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* The first piece of a party's share. */
static inline int first_of(int party) { return (int)((long long)job.pieces * party / job.parties); }

static void take_share(int party) {
  const int end_of_share = first_of(party + 1);
  for (;;) {
    if (atomic_load_explicit(&cursors[party].next, memory_order_relaxed) >= end_of_share) return;
    const int k = atomic_fetch_add_explicit(&cursors[party].next, 1, memory_order_relaxed);
    if (k >= end_of_share) return;
    const long long begin = (long long)k * job.length, end = begin + job.length;
    job.piece(job.frame, (int)begin, (int)(end < job.count ? end : job.count));
  }
}

/* The own share, then what is left of others. */
static void take_pieces(int party) {
  for (int k = 0; k < job.parties; k++) take_share((party + k) % job.parties);
}

/* Whether a job later than the one last seen is open. */
static inline int is_new(unsigned long long word, unsigned long long seen) { return (word & OPEN) && word >> 32 != seen; }

static void *work(void *unused) {
  unsigned long long seen = 0;
  for (;;) {
    unsigned long long word = atomic_load_explicit(&state.word, memory_order_acquire);
    for (int k = 0; k < SPINS && !is_new(word, seen); k++) {
      relax();
      word = atomic_load_explicit(&state.word, memory_order_acquire);
    }
    if (!is_new(word, seen)) {
      pthread_mutex_lock(&mutex);
      atomic_fetch_add(&sleepers, 1);
      while (!is_new(atomic_load(&state.word), seen)) pthread_cond_wait(&wake, &mutex);
      atomic_fetch_sub(&sleepers, 1);
      pthread_mutex_unlock(&mutex);
      continue;
    }
    if (!atomic_compare_exchange_strong(&state.word, &word, word + 1)) continue;
    seen = word >> 32;
    const int seat = atomic_fetch_sub_explicit(&seats.left, 1, memory_order_relaxed);
    if (seat > 0) take_pieces(seat);
    const unsigned long long left = atomic_fetch_sub(&state.word, 1) - 1;
    if (!(left & (OPEN | ACTIVE)) && atomic_load(&waiting)) {
      pthread_mutex_lock(&mutex);
      pthread_cond_signal(&done);
      pthread_mutex_unlock(&mutex);
    }
  }
  return 0;
}

/* Workers leave signals to the threads of JavaScript. */
static void start_workers(int wanted) {
  if (started >= wanted) return;
  sigset_t all, before;
  pthread_attr_t attributes;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 4 << 20);
  pthread_t thread;
  while (started < wanted && !pthread_create(&thread, &attributes, work, 0)) started++;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, 0);
}

static void wait_for_workers(void) {
  for (int k = 0; k < SPINS; k++) {
    if (!(atomic_load_explicit(&state.word, memory_order_acquire) & ACTIVE)) return;
    relax();
  }
  pthread_mutex_lock(&mutex);
  atomic_store(&waiting, 1);
  while (atomic_load(&state.word) & ACTIVE) pthread_cond_wait(&done, &mutex);
  atomic_store(&waiting, 0);
  pthread_mutex_unlock(&mutex);
}

/* Pieces of at least \`grain\` iterations, a few per thread; boundaries fall on multiples of 64 where pieces are long. */
static int piece_length(int count, int threads, int grain) {
  const int wanted = threads * PIECES_PER_THREAD;
  int length = count / wanted + (count % wanted != 0);
  if (length < grain) length = grain;
  if (length >= 64 && length < 0x7fffff00) length = (length + 63) & ~63;
  return length;
}

/* Whether enough workers are awake, or there is reason to wake them. */
static int is_worthwhile(int workers, long long work) {
  if (started - atomic_load(&sleepers) >= workers) return 1;
  passed_by += work;
  if (passed_by < WAKE_WORK) return 0;
  passed_by = 0;
  return 1;
}

static void launch(piece_function piece, void *frame, int count, int threads, int grain, long long work) {
  int idle = 0;
  const int length = piece_length(count, threads, grain);
  if (length >= count || !atomic_compare_exchange_strong(&owner.busy, &idle, 1)) {
    piece(frame, 0, count);
    return;
  }
  const int pieces = count / length + (count % length != 0);
  int workers = threads < pieces ? threads - 1 : pieces - 1;
  if (workers > MAX_WORKERS) workers = MAX_WORKERS;
  if (!is_worthwhile(workers, work)) {
    atomic_store(&owner.busy, 0);
    piece(frame, 0, count);
    return;
  }
  job.piece = piece;
  job.frame = frame;
  job.count = count;
  job.length = length;
  job.pieces = pieces;
  job.parties = workers + 1;
  start_workers(workers);
  for (int k = 0; k <= workers; k++) atomic_store_explicit(&cursors[k].next, first_of(k), memory_order_relaxed);
  atomic_store_explicit(&seats.left, workers, memory_order_relaxed);
  const unsigned long long generation = ((atomic_load(&state.word) >> 32) + 1) & 0xffffffffull;
  atomic_store(&state.word, generation << 32 | OPEN);
  int missing = workers - (started - atomic_load(&sleepers));
  if (missing > 0) {
    pthread_mutex_lock(&mutex);
    while (missing-- > 0) pthread_cond_signal(&wake);
    pthread_mutex_unlock(&mutex);
  }
  take_pieces(0);
  if (atomic_fetch_and(&state.word, ~OPEN) & ACTIVE) wait_for_workers();
  atomic_store(&owner.busy, 0);
}

#ifdef __APPLE__
/* Threads run this code for as long as the process lives: keep it loaded. */
__attribute__((constructor)) static void stay(void) {
  Dl_info info;
  if (dladdr((void *)stay, &info)) dlopen(info.dli_fname, RTLD_NOW | RTLD_NODELETE);
}
#endif

/* The address of the launch function, as a double. */
__attribute__((visibility("default"))) double ${POOL_SYMBOL}(void) { return (double)(long long)launch; }
`;
