// SPDX-License-Identifier: GPL-2.0
//
// The tests' own declaration of what Mooncake's store gives an adapter: its names
// and values, so that the adapter is built as it would be there.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>

namespace mooncake {

enum class ErrorCode : int32_t {
    OK = 0,
    INTERNAL_ERROR = -1,
    BUFFER_OVERFLOW = -10,
    SEGMENT_NOT_FOUND = -101,
    NO_AVAILABLE_HANDLE = -200,
    INVALID_KEY = -400,
    INVALID_PARAMS = -600,
    INVALID_READ = -701,
    OBJECT_NOT_FOUND = -704,
    OBJECT_ALREADY_EXISTS = -705,
    TRANSFER_FAIL = -800,
    CHECKSUM_MISMATCH = -801,
    FILE_OPEN_FAIL = -1101,
    FILE_READ_FAIL = -1102,
    FILE_WRITE_FAIL = -1103,
    KEYS_ULTRA_LIMIT = -1203,
};

struct Slice {
    void *ptr;
    size_t size;
};

struct StorageObjectMetadata {
    int64_t bucket_id;
    int64_t offset;
    int64_t key_size;
    int64_t data_size;
    std::string transport_endpoint;
};

}  // namespace mooncake
