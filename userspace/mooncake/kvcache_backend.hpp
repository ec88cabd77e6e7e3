// SPDX-License-Identifier: MIT
//
// kvcache for Mooncake's store: its two contracts for storage, on
// kvcache_mooncake.h. Thin: what can be said in C is said there.
//
//  KvCacheObjectAdapter   one object a call (ObjectStorageAdapter)
//  KvCacheStorageBackend  batches (StorageBackendInterface); the one to prefer
//
// Include it where Mooncake's headers are found; how it is built into Mooncake
// is told in Documentation/engines.rst.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kvcache_mooncake.h"
#include "storage/distributed/object_storage_adapter.h"
#include "storage_backend.h"

namespace mooncake {

namespace kvcache {

static_assert(sizeof(Slice) == sizeof(iovec) &&
                  offsetof(Slice, ptr) == offsetof(iovec, iov_base) &&
                  offsetof(Slice, size) == offsetof(iovec, iov_len),
              "a Slice is laid out as an iovec");

inline tl::unexpected<ErrorCode> Error(int64_t error) {
    return tl::unexpected<ErrorCode>(static_cast<ErrorCode>(error));
}

// A store, opened by Init() and closed with its owner.
class Store {
   public:
    explicit Store(const kvcm_options &options) : options_(options) {
        if (options.device) {
            device_ = options.device;
            options_.device = device_.c_str();
        }
    }
    Store(const Store &) = delete;
    Store &operator=(const Store &) = delete;
    ~Store() { kvcm_close(store_); }

    tl::expected<void, ErrorCode> Open() {
        kvcm_usage_t usage;
        int error = store_ ? KVCM_OK : kvcm_open(&options_, &store_);

        // The pool must be there: say so now, and not with the first object.
        if (!error) error = kvcm_usage(store_, &usage);
        if (error) return Error(error);
        return {};
    }

    kvcm *get() const { return store_; }

   private:
    using kvcm_usage_t = struct kvcm_usage;

    kvcm_options options_;
    std::string device_;
    kvcm *store_ = nullptr;
};

inline kvcm_item Item(const std::string &key) {
    kvcm_item item{};

    item.key = key.data();
    item.key_len = key.size();
    return item;
}

inline StorageObjectMetadata Metadata(const std::string &key, uint64_t size) {
    StorageObjectMetadata metadata{};

    metadata.key_size = static_cast<int64_t>(key.size());
    metadata.data_size = static_cast<int64_t>(size);
    return metadata;
}

inline std::string Key(const void *key, size_t len) {
    return std::string(static_cast<const char *>(key), len);
}

}  // namespace kvcache

class KvCacheObjectAdapter : public ObjectStorageAdapter {
   public:
    explicit KvCacheObjectAdapter(const kvcm_options &options = {})
        : store_(options) {}

    tl::expected<void, ErrorCode> Init() override { return store_.Open(); }
    const char *GetName() const override { return "kvcache"; }

    tl::expected<void, ErrorCode> Put(const std::string &logical_key,
                                      std::span<const char> data) override {
        iovec iov{const_cast<char *>(data.data()), data.size()};

        return PutV(logical_key, &iov, 1);
    }

    tl::expected<void, ErrorCode> PutV(const std::string &logical_key,
                                       const iovec *iov, int iovcnt) override {
        kvcm_item item = kvcache::Item(logical_key);

        if (iovcnt <= 0) return kvcache::Error(KVCM_INVALID_PARAMS);
        item.slices = iov;
        item.nr_slices = static_cast<size_t>(iovcnt);
        return Done(kvcm_batch_put(store_.get(), &item, 1), item);
    }

    tl::expected<size_t, ErrorCode> Get(const std::string &logical_key,
                                        void *buf, size_t len) override {
        kvcm_item item = kvcache::Item(logical_key);
        iovec iov{buf, len};

        item.slices = &iov;
        item.nr_slices = 1;
        if (auto done = Done(kvcm_batch_get(store_.get(), &item, 1), item);
            !done)
            return tl::unexpected<ErrorCode>(done.error());
        return static_cast<size_t>(item.result);
    }

    tl::expected<bool, ErrorCode> Exists(
        const std::string &logical_key) override {
        kvcm_item item = kvcache::Item(logical_key);

        if (auto done = Done(kvcm_batch_exists(store_.get(), &item, 1), item);
            !done)
            return tl::unexpected<ErrorCode>(done.error());
        return item.result == 1;
    }

    tl::expected<void, ErrorCode> Delete(
        const std::string &logical_key) override {
        kvcm_item item = kvcache::Item(logical_key);

        return Done(kvcm_batch_delete(store_.get(), &item, 1), item);
    }

    tl::expected<std::vector<KeyInfo>, ErrorCode> ListKeys() override {
        std::vector<KeyInfo> keys;
        int error = kvcm_scan(store_.get(), nullptr, 0, Collect, &keys);

        if (error) return kvcache::Error(error);
        return keys;
    }

   private:
    static tl::expected<void, ErrorCode> Done(int64_t count,
                                              const kvcm_item &item) {
        if (count < 0) return kvcache::Error(count);
        if (item.result < 0) return kvcache::Error(item.result);
        return {};
    }

    static int Collect(void *context, const kvcm_entry *entries,
                       size_t count) {
        auto *keys = static_cast<std::vector<KeyInfo> *>(context);

        for (size_t i = 0; i < count; i++) {
            KeyInfo info;

            info.logical_key = kvcache::Key(entries[i].key, entries[i].key_len);
            info.size = entries[i].size;
            keys->push_back(std::move(info));
        }
        return 0;
    }

    kvcache::Store store_;
};

// Objects belong to no client: what any host put, any host loads. The master is
// told of an object by whoever put it, and of what was there before by ScanMeta();
// it is told of what the pool evicted whenever it asks (EvictAboveDiskWatermark())
// or something is put.
class KvCacheStorageBackend : public StorageBackendInterface {
   public:
    explicit KvCacheStorageBackend(const FileStorageConfig &config,
                                   const kvcm_options &options = {})
        : StorageBackendInterface(config), store_(options) {}

    tl::expected<void, ErrorCode> Init() override {
        if (auto open = store_.Open(); !open) return open;
        // From here on what goes is told.
        std::lock_guard<std::mutex> lock(mutex_);
        int error = kvcm_gone(store_.get(), Gone, this);
        if (error < 0) return kvcache::Error(error);
        return {};
    }

    tl::expected<int64_t, ErrorCode> BatchOffload(
        const std::unordered_map<std::string, std::vector<Slice>> &batch_object,
        std::function<ErrorCode(const std::vector<std::string> &keys,
                                std::vector<StorageObjectMetadata> &metadatas)>
            complete_handler,
        EvictionHandler eviction_handler = nullptr) override {
        std::vector<std::string> keys;
        std::vector<StorageObjectMetadata> metadatas;
        std::vector<kvcm_item> items;
        int64_t error = KVCM_OK;

        for (const auto &[key, slices] : batch_object) {
            kvcm_item item = kvcache::Item(key);

            item.slices = reinterpret_cast<const iovec *>(slices.data());
            item.nr_slices = slices.size();
            items.push_back(item);
        }
        if (int64_t put = kvcm_batch_put(store_.get(), items.data(), items.size());
            put < 0)
            return kvcache::Error(put);
        size_t at = 0;
        for (const auto &[key, slices] : batch_object) {
            const kvcm_item &item = items[at++];
            uint64_t size = 0;

            if (item.result < 0) {
                error = item.result;
                continue;
            }
            for (const Slice &slice : slices) size += slice.size;
            keys.push_back(key);
            metadatas.push_back(kvcache::Metadata(key, size));
        }
        // A put may have made room for itself. Before what was put is told, or an
        // object that went and came again would be told in the wrong order.
        if (auto told = TellGone(eviction_handler); !told)
            return tl::unexpected<ErrorCode>(told.error());
        if (keys.empty() && error) return SoftError(error);
        Remember(keys);
        if (complete_handler && !keys.empty()) {
            ErrorCode answer = complete_handler(keys, metadatas);

            if (answer != ErrorCode::OK)
                return tl::unexpected<ErrorCode>(answer);
        }
        return static_cast<int64_t>(keys.size());
    }

    tl::expected<void, ErrorCode> BatchLoad(
        std::unordered_map<std::string, Slice> &batched_slices) override {
        std::vector<kvcm_item> items;
        int64_t error = KVCM_OK;

        for (auto &[key, slice] : batched_slices) {
            kvcm_item item = kvcache::Item(key);

            item.slices = reinterpret_cast<const iovec *>(&slice);
            item.nr_slices = 1;
            items.push_back(item);
        }
        if (int64_t got = kvcm_batch_get(store_.get(), items.data(), items.size());
            got < 0)
            return kvcache::Error(got);
        for (const kvcm_item &item : items) {
            if (item.result < 0)
                error = item.result;
            else if (static_cast<size_t>(item.result) != item.slices->iov_len)
                error = KVCM_FILE_READ_FAIL;    // not the size that it had
        }
        if (error) return kvcache::Error(error);
        return {};
    }

    tl::expected<bool, ErrorCode> IsExist(const std::string &key) override {
        kvcm_item item = kvcache::Item(key);

        if (int64_t count = kvcm_batch_exists(store_.get(), &item, 1); count < 0)
            return kvcache::Error(count);
        if (item.result < 0) return kvcache::Error(item.result);
        return item.result == 1;
    }

    tl::expected<bool, ErrorCode> IsEnableOffloading() override {
        struct kvcm_usage usage;

        // A full pool evicts; only one that is not there takes nothing.
        return kvcm_usage(store_.get(), &usage) == KVCM_OK;
    }

    tl::expected<void, ErrorCode> ScanMeta(
        const std::function<ErrorCode(
            const std::vector<std::string> &keys,
            std::vector<StorageObjectMetadata> &metadatas)> &handler) override {
        Scan scan{this, &handler};
        int error = kvcm_scan(store_.get(), nullptr, 0, Announce, &scan);

        if (error) return kvcache::Error(error);
        return {};
    }

    void RemoveAll() override {
        kvcm_remove_all(store_.get(), nullptr, 0);
        std::lock_guard<std::mutex> lock(mutex_);
        known_.clear();
    }

    // The pool keeps a reserve of clean segments by itself, whatever the marks:
    // this only tells what it dropped for that.
    tl::expected<std::vector<std::string>, ErrorCode> EvictAboveDiskWatermark(
        double /* high_watermark_ratio */, double /* low_watermark_ratio */,
        EvictionHandler eviction_handler = nullptr) override {
        return TellGone(eviction_handler);
    }

   private:
    struct Scan {
        KvCacheStorageBackend *backend;
        const std::function<ErrorCode(const std::vector<std::string> &,
                                      std::vector<StorageObjectMetadata> &)>
            *handler;
    };

    // What failed for now must not end the caller's cycle.
    static tl::unexpected<ErrorCode> SoftError(int64_t error) {
        switch (error) {
            case KVCM_NO_AVAILABLE_HANDLE:
            case KVCM_TRANSFER_FAIL:
                return kvcache::Error(
                    static_cast<int64_t>(ErrorCode::INVALID_READ));
            default:
                return kvcache::Error(error);
        }
    }

    void Remember(const std::vector<std::string> &keys) {
        std::lock_guard<std::mutex> lock(mutex_);

        known_.insert(keys.begin(), keys.end());
    }

    static int Announce(void *context, const kvcm_entry *entries,
                        size_t count) {
        auto *scan = static_cast<Scan *>(context);
        std::vector<std::string> keys;
        std::vector<StorageObjectMetadata> metadatas;

        for (size_t i = 0; i < count; i++) {
            keys.push_back(kvcache::Key(entries[i].key, entries[i].key_len));
            metadatas.push_back(
                kvcache::Metadata(keys.back(), entries[i].size));
        }
        scan->backend->Remember(keys);
        return static_cast<int>((*scan->handler)(keys, metadatas));
    }

    static int Gone(void *context, const void *key, size_t key_len) {
        auto *backend = static_cast<KvCacheStorageBackend *>(context);

        // What the master was never told of need not be taken back.
        if (std::string text = kvcache::Key(key, key_len);
            backend->known_.count(text))
            backend->gone_.insert(std::move(text));
        return 0;
    }

    // Nobody can say what has gone: ask for all that the master knows of.
    int AskForAll() {
        std::vector<kvcm_item> items;
        std::vector<const std::string *> keys;

        for (const std::string &key : known_) {
            items.push_back(kvcache::Item(key));
            keys.push_back(&key);
        }
        if (int64_t count =
                kvcm_batch_exists(store_.get(), items.data(), items.size());
            count < 0)
            return static_cast<int>(count);
        for (size_t i = 0; i < items.size(); i++)
            if (!items[i].result) gone_.insert(*keys[i]);
        return 0;
    }

    // Keys that have gone since, told to the handler first; if it fails they are
    // told again next time.
    tl::expected<std::vector<std::string>, ErrorCode> TellGone(
        const EvictionHandler &handler) {
        std::lock_guard<std::mutex> lock(mutex_);
        int error = kvcm_gone(store_.get(), Gone, this);

        if (error == 1) error = AskForAll();
        if (error < 0) return kvcache::Error(error);
        std::vector<std::string> keys(gone_.begin(), gone_.end());
        if (keys.empty()) return keys;
        if (handler) {
            auto told = handler(keys);

            // That the master knows of none any more is what is wanted.
            if (!told && told.error() != ErrorCode::OBJECT_NOT_FOUND)
                return tl::unexpected<ErrorCode>(told.error());
        }
        for (const std::string &key : keys) known_.erase(key);
        gone_.clear();
        return keys;
    }

    kvcache::Store store_;
    std::mutex mutex_;  // guards known_ and gone_
    std::unordered_set<std::string> known_;     // that the master was told of
    std::unordered_set<std::string> gone_;      // of these, to be taken back
};

}  // namespace mooncake
