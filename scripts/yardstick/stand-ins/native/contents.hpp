// Keeps what a native program's buffers and its allocations of USM hold at their end: a file each, in the folder that
// XEEMU_CONTENTS names. Memory that nothing has been written to holds the byte XEEMU_PATTERN.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace xeemu {

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr int most_files = 200;

inline std::byte pattern()
{
    const char *told = std::getenv("XEEMU_PATTERN");
    return static_cast<std::byte>(told ? std::atoi(told) : 0xff);
}

inline void kept(const void *data, std::size_t bytes)
{
    static int count = 0;
    const char *folder = std::getenv("XEEMU_CONTENTS");
    if (!folder || !bytes || bytes > most_bytes || count >= most_files)
        return;
    const std::string path = std::string(folder) + "/" + std::to_string(count++) + ".bin";
    if (std::FILE *file = std::fopen(path.c_str(), "wb")) {
        std::fwrite(data, 1, bytes, file);
        std::fclose(file);
    }
}

inline std::map<const void *, std::size_t> &lent()
{
    static auto *const sizes = new std::map<const void *, std::size_t>;
    return *sizes;
}

inline void begun(const void *data, std::size_t bytes)
{
    static const int at_end = std::atexit([] {
        for (const auto &[left, size] : lent())
            kept(left, size);
    });
    (void)at_end;
    lent()[data] = bytes;
}

inline void ended(const void *data)
{
    const auto found = lent().find(data);
    if (found == lent().end())
        return;
    kept(data, found->second);
    lent().erase(found);
}

}  // namespace xeemu
