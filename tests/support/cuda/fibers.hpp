// Blocks of threads on the host, as a GPU runs them: a block is run by one thread of the host, which takes the block's
// threads by turns, each on a stack of its own, in another order every time. A thread is left only where it waits: for
// its warp, its block, or another block. Several blocks run at a time.
//
// What a real GPU would not forgive is said here: a warp whose threads are at different operations, threads that wait
// for ever, memory of a block that is read before it is written (it is full of GARBAGE), words that are still being
// copied (GARBAGE until the copy is waited for), memory that is not there.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#ifndef WARP_THREADS
#define WARP_THREADS 32
#endif

struct Dim {
    unsigned x, y, z;
};

namespace host {

constexpr unsigned LANES = WARP_THREADS;
constexpr size_t STACK = 128 << 10, MEMORY = 228 << 10;
constexpr unsigned MOST_COPIES = 128, MOST_SHARED = 32, MOST_BLOCKS_AT_A_TIME = 16;
constexpr int GARBAGE = 0xA5;

struct Copy {
    char* to;
    const void* from;
    size_t bytes;
    unsigned group;
};

struct Fiber {
    jmp_buf left_at;
    ucontext_t start;
    Dim thread;
    bool begun, ended;
    const unsigned* waits_for;  // null, or a number that is to change
    unsigned number;            // from this one
    Copy copies[MOST_COPIES];   // under way
    unsigned n_copies, group;
};

struct Warp {
    unsigned boxes[2][LANES];  // by turns: a thread may be one operation ahead
    const char* operation;
    unsigned arrived, done;
};

struct Worker {
    jmp_buf left_at;
    Dim block;
    unsigned threads;
    Fiber* fibers;
    Warp* warps;
    char* stacks;
    unsigned arrived, barriers;
    unsigned random;
    char* memory;  // of the block
    size_t used;
    size_t places[MOST_SHARED];
    bool placed[MOST_SHARED];
};

struct Launch {
    Dim grid, threads;
    unsigned seed, next;
    void (*call)(const void*);
    const void* what;
    time_t end;
    int failed;
    char message[300];
};

static Launch launched;
static Worker workers[MOST_BLOCKS_AT_A_TIME];
static thread_local Worker* worker;
static thread_local Fiber* here;

inline bool failed() { return __atomic_load_n(&launched.failed, __ATOMIC_ACQUIRE) == 2; }

// Leave this thread until the scheduler comes back to it.
__attribute__((noinline)) static void leave() {
    if (!_setjmp(here->left_at)) _longjmp(worker->left_at, 1);
}

// End the launch with a sentence; of several the first.
__attribute__((noinline, format(printf, 1, 2))) static void fail(const char* format, ...) {
    int none = 0;
    if (__atomic_compare_exchange_n(&launched.failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        int n = 0;
        if (here)
            n = snprintf(launched.message, sizeof launched.message, "block %u thread %u: ", worker->block.x,
                         here->thread.x);
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(launched.message + n, sizeof launched.message - static_cast<size_t>(n), format, arguments);
        va_end(arguments);
        __atomic_store_n(&launched.failed, 2, __ATOMIC_RELEASE);
    }
    while (here) leave();
}

static void wait_until_changed(const unsigned& number, unsigned from) {
    here->waits_for = &number;
    here->number = from;
    leave();
}

// The numbers of all threads of a warp: `take(numbers, own lane)` of each as soon as all are there.
template <class Take>
unsigned of_warp(const char* operation, unsigned n, Take take) {
    const unsigned thread = here->thread.x, lane = thread % LANES;
    Warp& warp = worker->warps[thread / LANES];
    const unsigned mine = warp.done;
    if (warp.arrived == 0) warp.operation = operation;
    if (warp.operation != operation && strcmp(warp.operation, operation) != 0)
        fail("at %s, while others of the warp are at %s", operation, warp.operation);
    warp.boxes[mine % 2][lane] = n;
    if (++warp.arrived == LANES) {
        warp.arrived = 0;
        warp.done++;
    } else {
        wait_until_changed(warp.done, mine);
    }
    return take(warp.boxes[mine % 2], lane);
}

// Wait for all threads of the block.
inline void barrier() {
    const unsigned mine = worker->barriers;
    if (++worker->arrived == launched.threads.x) {
        worker->arrived = 0;
        worker->barriers++;
    } else {
        wait_until_changed(worker->barriers, mine);
    }
}

// Let other threads and blocks run.
inline void pause() {
    leave();
    sched_yield();
}

inline char* place(unsigned number, size_t bytes, size_t alignment) {
    if (!worker->placed[number]) {
        const size_t at = (worker->used + alignment - 1) / alignment * alignment;
        if (number >= MOST_SHARED || at + bytes > MEMORY) fail("a block has no more than %zu bytes", MEMORY);
        worker->placed[number] = true;
        worker->places[number] = at;
        worker->used = at + bytes;
        memset(worker->memory + at, GARBAGE, bytes);
    }
    return worker->memory + worker->places[number];
}

// `__shared__ Type name;` is `auto& name = shared_memory<Type, NUMBER>();`.
template <class Type, unsigned NUMBER>
Type& shared_memory() {
    static_assert(NUMBER < MOST_SHARED, "too many");
    return *reinterpret_cast<Type*>(place(NUMBER, sizeof(Type), alignof(Type)));
}

// An address in a block's memory, where there are `bytes`.
inline char* at(unsigned address, size_t bytes) {
    if (address % bytes || address + bytes > worker->used) fail("no %zu bytes at %u of the block", bytes, address);
    return worker->memory + address;
}

inline unsigned address_of(const void* where) {
    const auto address = static_cast<size_t>(static_cast<const char*>(where) - worker->memory);
    if (address >= worker->used) fail("%p is not in the block's memory", where);
    return static_cast<unsigned>(address);
}

inline const void* aligned(const void* where, size_t bytes) {
    if (reinterpret_cast<uintptr_t>(where) % bytes) fail("%p is not a multiple of %zu", where, bytes);
    return where;
}

// Begin to copy to an address in a block's memory: it ends when it is waited for.
inline void begin_copy(unsigned to, const void* from, size_t bytes) {
    if (here->n_copies == MOST_COPIES) fail("more than %u copies under way", MOST_COPIES);
    memset(at(to, bytes), GARBAGE, bytes);
    here->copies[here->n_copies++] = {at(to, bytes), aligned(from, bytes), bytes, here->group};
}

inline void end_group() { here->group++; }

// Wait for all groups of copies but the `pending` newest.
inline void wait_for_groups(unsigned pending) {
    unsigned left = 0;
    for (unsigned i = 0; i < here->n_copies; i++) {
        const Copy& copy = here->copies[i];
        if (copy.group + pending < here->group)
            memcpy(copy.to, copy.from, copy.bytes);
        else
            here->copies[left++] = copy;
    }
    here->n_copies = left;
}

// A thread touches what is not memory.
static void touched(int, siginfo_t* what, void*) {
    if (here == nullptr) {
        signal(SIGSEGV, SIG_DFL);
        return;
    }
    fail("touches %p, which is not memory", what->si_addr);
}

static void run_fiber() {
    while (true) {
        launched.call(launched.what);
        here->ended = true;
        leave();
    }
}

static unsigned random_number() {
    unsigned& n = worker->random;
    n ^= n << 13;
    n ^= n >> 17;
    n ^= n << 5;
    return n;
}

__attribute__((noinline)) static void resume(Fiber& fiber) {
    here = &fiber;
    if (!_setjmp(worker->left_at)) {
        if (fiber.begun) _longjmp(fiber.left_at, 1);
        fiber.begun = true;
        setcontext(&fiber.start);
    }
    here = nullptr;
}

static time_t seconds() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static void begin_block(unsigned number) {
    Worker& w = *worker;
    const unsigned threads = launched.threads.x;
    w.block = {number % launched.grid.x, number / launched.grid.x, 0};
    w.arrived = 0;
    w.used = 0;
    memset(w.placed, 0, sizeof w.placed);
    memset(w.warps, 0, sizeof(Warp) * (threads / LANES));
    for (unsigned i = 0; i < threads; i++) {
        Fiber& fiber = w.fibers[i];
        fiber.ended = false;
        fiber.waits_for = nullptr;
        fiber.n_copies = fiber.group = 0;
    }
}

static void run_block(unsigned number) {
    begin_block(number);
    const unsigned threads = launched.threads.x;
    unsigned left = threads;
    for (unsigned pass = 1; left; pass++) {
        const unsigned first = random_number() % threads, step = random_number() % 2 ? 1 : threads - 1;
        bool any = false;
        for (unsigned i = 0, thread = first; i < threads; i++, thread = (thread + step) % threads) {
            Fiber& fiber = worker->fibers[thread];
            if (fiber.ended || (fiber.waits_for && *fiber.waits_for == fiber.number)) continue;
            fiber.waits_for = nullptr;
            resume(fiber);
            if (failed()) return;
            left -= fiber.ended;
            any = true;
        }
        if (!any) fail("%u threads of block %u wait for ever", left, number);
        if (pass % 64 == 0 && seconds() > launched.end) fail("block %u does not end", number);
        if (failed()) return;
    }
}

static void* run_blocks(void* which) {
    const unsigned threads = launched.threads.x, blocks = launched.grid.x * launched.grid.y;
    Worker& w = *static_cast<Worker*>(which);
    worker = &w;
    w.random = (launched.seed * MOST_BLOCKS_AT_A_TIME + static_cast<unsigned>(&w - workers)) * 2654435761u | 1;
    if (w.threads != threads) {  // else all is there, of a launch before
        w.threads = threads;
        w.fibers = static_cast<Fiber*>(calloc(threads, sizeof(Fiber)));
        w.warps = static_cast<Warp*>(calloc(threads / LANES, sizeof(Warp)));
        w.memory = static_cast<char*>(aligned_alloc(128, MEMORY));
        const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        w.stacks = static_cast<char*>(mmap(nullptr, threads * STACK, PROT_READ | PROT_WRITE, how, -1, 0));
    }
    for (unsigned i = 0; i < threads; i++) {
        Fiber& fiber = w.fibers[i];
        fiber.thread = {i, 0, 0};
        fiber.begun = false;
        getcontext(&fiber.start);
        fiber.start.uc_stack.ss_sp = w.stacks + i * STACK;
        fiber.start.uc_stack.ss_size = STACK;
        makecontext(&fiber.start, run_fiber, 0);
    }
    while (!failed()) {
        const unsigned next = __atomic_fetch_add(&launched.next, 1, __ATOMIC_RELAXED);
        if (next >= blocks) break;
        run_block(launched.seed % 2 ? blocks - 1 - next : next);  // no order is promised
    }
    return nullptr;
}

// Run `call` of all threads of every block, so many blocks at a time. Null, or what was wrong.
template <class Call>
const char* launch(Dim grid, unsigned threads, unsigned at_a_time, unsigned seed, unsigned patience, const Call& call) {
    launched = {grid, {threads, 1, 1}, seed, 0, nullptr, &call, seconds() + patience, 0, ""};
    launched.call = [](const void* what) { (*static_cast<const Call*>(what))(); };
    struct sigaction touching = {}, before;
    touching.sa_sigaction = touched;
    touching.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &touching, &before);
    pthread_t all[MOST_BLOCKS_AT_A_TIME];
    unsigned n = 0;
    for (; n < at_a_time && n < MOST_BLOCKS_AT_A_TIME && n < grid.x * grid.y; n++)
        if (pthread_create(&all[n], nullptr, run_blocks, &workers[n])) break;
    if (n == 0) fail("no thread of the host");
    while (n) pthread_join(all[--n], nullptr);
    sigaction(SIGSEGV, &before, nullptr);
    return launched.failed ? launched.message : nullptr;
}

}  // namespace host
