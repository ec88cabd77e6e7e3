// SPDX-License-Identifier: GPL-2.0
//
// The contract of an object storage adapter, in the tests' own words.

#pragma once

#include <sys/uio.h>

#include <span>
#include <string>
#include <vector>

#include "types.h"

namespace mooncake {

struct KeyInfo {
    std::string logical_key;
    size_t size = 0;
};

class ObjectStorageAdapter {
   public:
    virtual ~ObjectStorageAdapter() = default;

    virtual tl::expected<void, ErrorCode> Put(const std::string &key,
                                              std::span<const char> data) = 0;
    virtual tl::expected<void, ErrorCode> PutV(const std::string &key,
                                               const iovec *iov, int n) = 0;
    virtual tl::expected<size_t, ErrorCode> Get(const std::string &key,
                                                void *buf, size_t len) = 0;
    virtual tl::expected<bool, ErrorCode> Exists(const std::string &key) = 0;
    virtual tl::expected<void, ErrorCode> Delete(const std::string &key) = 0;
    virtual tl::expected<std::vector<KeyInfo>, ErrorCode> ListKeys() = 0;
    virtual tl::expected<void, ErrorCode> Init() = 0;
    virtual const char *GetName() const = 0;
};

}  // namespace mooncake
