// SPDX-License-Identifier: GPL-2.0
//
// The contract of a storage backend, in the tests' own words: see types.h.

#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "types.h"

namespace mooncake {

struct FileStorageConfig {
    std::string storage_filepath;
};

class StorageBackendInterface {
   public:
    using EvictionHandler = std::function<tl::expected<void, ErrorCode>(
        const std::vector<std::string> &keys)>;
    using MetadataHandler = std::function<ErrorCode(
        const std::vector<std::string> &keys,
        std::vector<StorageObjectMetadata> &metadatas)>;

    explicit StorageBackendInterface(const FileStorageConfig &config)
        : file_storage_config_(config) {}
    virtual ~StorageBackendInterface() = default;

    virtual tl::expected<void, ErrorCode> Init() = 0;
    virtual tl::expected<int64_t, ErrorCode> BatchOffload(
        const std::unordered_map<std::string, std::vector<Slice>> &objects,
        MetadataHandler complete_handler,
        EvictionHandler eviction_handler = nullptr) = 0;
    virtual tl::expected<void, ErrorCode> BatchLoad(
        std::unordered_map<std::string, Slice> &slices) = 0;
    virtual tl::expected<bool, ErrorCode> IsExist(const std::string &key) = 0;
    virtual tl::expected<bool, ErrorCode> IsEnableOffloading() = 0;
    virtual tl::expected<void, ErrorCode> ScanMeta(
        const MetadataHandler &handler) = 0;
    virtual void ResetScanIterator() {}
    virtual void RemoveAll() {}
    virtual tl::expected<std::vector<std::string>, ErrorCode>
    EvictAboveDiskWatermark(double, double, EvictionHandler = nullptr) {
        return std::vector<std::string>{};
    }

    FileStorageConfig file_storage_config_;
};

}  // namespace mooncake
