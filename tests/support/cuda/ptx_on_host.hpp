// kernels/ptx.cuh for the host.

inline uint4 load16(const void* from) { return *static_cast<const uint4*>(host::aligned(from, 16)); }
inline void fetch_words(u32 (&words)[4], const void* from, bool there) {
    if (there) memcpy(words, host::aligned(from, 16), 16);
}
inline void fetch_constants(u32 (&words)[4], const void* from, bool there) { fetch_words(words, from, there); }
inline void store16(void* to, uint4 v) {
    host::aligned(to, 16);
    memcpy(to, &v, 16);
}
template <class Number>
inline Number fetched(const Number* from, bool there) {
    return there ? *from : 0;
}
inline u32 fetched_from_host(const u32* from, bool there) { return there ? *from : 0; }
inline u32 now(const u32* where) { return __atomic_load_n(where, __ATOMIC_RELAXED); }

inline void let_next_begin() {}  // launches run one after the other
inline void wait_for_launches() {}
inline void made_once(u32&) {}
inline u32 shared_address(const void* of) { return host::address_of(of); }
inline void keep16(u32 to, uint4 v) { memcpy(host::at(to, 16), &v, 16); }
inline void keep16(void* to, uint4 v) { keep16(shared_address(to), v); }
inline uint4 kept16(u32 from) {
    uint4 v;
    memcpy(&v, host::at(from, 16), 16);
    return v;
}
inline uint4 kept16(const void* from) { return kept16(shared_address(from)); }
inline u32 kept_word(u32 from) {
    u16 word;
    memcpy(&word, host::at(from, 2), 2);
    return word;
}

inline void copy16(u32 to, const void* from) { host::begin_copy(to, from, 16); }
inline void copy16(void* to, const void* from) { copy16(shared_address(to), from); }
inline void copy_constants(void* to, const void* from) { copy16(to, from); }
inline void end_copies() { host::end_group(); }
template <u32 PENDING>
inline void wait_for_copies() {
    host::wait_for_groups(PENDING);
}

inline u32 lanes_below() { return (1u << threadIdx.x % 32) - 1; }

// A number of the two signed halves of others.
template <class Take>
inline u32 by_halves(u32 a, u32 b, Take take) {
    const auto half = [&](u32 shift) {
        return static_cast<u16>(take(static_cast<i16>(a >> shift), static_cast<i16>(b >> shift)));
    };
    return static_cast<u32>(half(16)) << 16 | half(0);
}
inline u32 signs_of(u32 bits) {
    return by_halves(bits, 0, [](i16 a, i16) { return a < 0 ? -1 : 0; });
}
inline u32 larger_halves(u32 a, u32 b) {
    return by_halves(a, b, [](i16 x, i16 y) { return x > y ? x : y; });
}
inline u32 smaller_halves(u32 a, u32 b) {
    return by_halves(a, b, [](i16 x, i16 y) { return x < y ? x : y; });
}
inline u32 as_halves(i32 low, i32 high) {
    const auto half = [](i32 n) { return static_cast<u16>(n < -32768 ? -32768 : n > 32767 ? 32767 : n); };
    return static_cast<u32>(half(high)) << 16 | half(low);
}
inline u32 reached(u32 words, u32 limits) {
    return by_halves(words, limits, [](i16 word, i16 limit) { return (word & 0x7FFF) >= (limit & 0xFFFF) ? -1 : 0; });
}
