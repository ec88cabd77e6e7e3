// SPDX-License-Identifier: GPL-2.0
//
// The C++ adapter for Mooncake's store, called as Mooncake calls it: objects one
// by one, and batches that are offloaded, loaded, scanned after a restart, evicted
// and removed, with every byte compared; what the "master" lists is always what
// is there.
//
// usage: mooncake_adapter POOL
//
// For a small pool of its own, which is filled several times over.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "kvcache_backend.hpp"

extern "C" {
#include "vmtest.h"
}

using namespace mooncake;

namespace {

kvcm_options options;

std::vector<char> Bytes(uint64_t seed, size_t len) {
    std::vector<char> data(len);

    vt_fill(data.data(), seed, 0, len);
    return data;
}

bool Same(const std::vector<char> &data, uint64_t seed, size_t len) {
    return vt_differs(data.data(), seed, 0, len) < 0;
}

// Ask again while a put finds no room at this moment.
template <typename Call>
auto Again(Call call) {
    uint64_t until = vt_ms() + 30000;
    auto answer = call();

    while (!answer &&
           (answer.error() == ErrorCode::NO_AVAILABLE_HANDLE ||
            answer.error() == ErrorCode::TRANSFER_FAIL ||
            answer.error() == ErrorCode::INVALID_READ) &&
           vt_ms() < until) {
        vt_sleep_ms(20);
        answer = call();
    }
    return answer;
}

template <typename Answer>
bool Is(const Answer &answer, ErrorCode code) {
    return !answer && answer.error() == code;
}

// --- ObjectStorageAdapter ---

void TestObjects() {
    KvCacheObjectAdapter adapter(options);
    ObjectStorageAdapter &a = adapter;
    const std::string odd("tenant/\0\xff key with any bytes", 26);
    std::vector<char> data = Bytes(1, 100028), got(200000);
    iovec iov[] = {{data.data(), 7}, {data.data() + 7, 65536},
                   {data.data() + 65543, 100028 - 65543}};

    vt_begin("objects: put, scattered put, get, exists, delete, list");
    vt_expect(bool(a.Init()) && !strcmp(a.GetName(), "kvcache"), "Init");
    vt_expect(bool(Again([&] { return a.Put("plain", data); })), "Put");
    vt_expect(bool(Again([&] { return a.PutV(odd, iov, 3); })), "PutV");
    vt_expect(bool(a.Put("plain", data)), "the same Put again");
    vt_expect(Is(a.Put("plain", std::span<const char>(data.data(), 5)),
                 ErrorCode::OBJECT_ALREADY_EXISTS), "a Put of another size");
    for (const std::string &key : {std::string("plain"), odd}) {
        auto n = a.Get(key, got.data(), got.size());

        vt_expect(n && *n == data.size() && Same(got, 1, data.size()), "Get");
        vt_expect(a.Exists(key) && *a.Exists(key), "Exists");
    }
    vt_expect(Is(a.Get("plain", got.data(), 100), ErrorCode::BUFFER_OVERFLOW),
              "Get into memory that is too small");
    vt_expect(Is(a.Get("absent", got.data(), 100), ErrorCode::OBJECT_NOT_FOUND),
              "Get of what is not there");
    vt_expect(a.Exists("absent") && !*a.Exists("absent"), "Exists of that");
    vt_expect(Is(a.Put("", data), ErrorCode::INVALID_KEY), "an empty key");
    vt_expect(Is(a.PutV("none", iov, 0), ErrorCode::INVALID_PARAMS), "no memory");
    auto keys = a.ListKeys();
    vt_expect(keys && keys->size() == 2, "ListKeys");
    if (keys)
        for (const KeyInfo &k : *keys)
            vt_expect((k.logical_key == "plain" || k.logical_key == odd) &&
                      k.size == data.size(), "a key of ListKeys");
    vt_expect(a.Delete("plain") && a.Delete(odd), "Delete");
    vt_expect(Is(a.Delete("plain"), ErrorCode::OBJECT_NOT_FOUND), "Delete again");
    keys = a.ListKeys();
    vt_expect(keys && keys->empty(), "ListKeys when all is deleted");
    vt_end();
}

// --- StorageBackendInterface ---

// What a master knows, as the handlers tell it.
struct Master {
    std::map<std::string, int64_t> listed;
    uint64_t announced = 0;
    uint64_t evicted = 0;
    bool fail_next = false;

    StorageBackendInterface::MetadataHandler Complete() {
        return [this](const std::vector<std::string> &keys,
                      std::vector<StorageObjectMetadata> &metadatas) {
            vt_expect(keys.size() == metadatas.size(), "keys and metadata");
            for (size_t i = 0; i < keys.size(); i++) {
                vt_expect(metadatas[i].key_size == (int64_t)keys[i].size(),
                          "size of a key");
                listed[keys[i]] = metadatas[i].data_size;
                announced++;
            }
            return ErrorCode::OK;
        };
    }

    StorageBackendInterface::EvictionHandler Evict() {
        return [this](const std::vector<std::string> &keys)
                   -> tl::expected<void, ErrorCode> {
            if (fail_next) {
                fail_next = false;
                return tl::unexpected<ErrorCode>(ErrorCode::TRANSFER_FAIL);
            }
            for (const std::string &key : keys) {
                vt_expect(listed.erase(key), "%s went that was not listed",
                          key.c_str());
                evicted++;
            }
            return {};
        };
    }
};

constexpr size_t kBytes = 60007;

uint64_t SeedOf(const std::string &key) {
    uint64_t seed = 5;

    for (char c : key) seed = vt_mix(seed, (uint8_t)c);
    return seed;
}

bool Offload(StorageBackendInterface &b, Master &m, unsigned int from,
             unsigned int n) {
    std::unordered_map<std::string, std::vector<Slice>> batch;
    std::vector<std::vector<char>> memory;

    for (unsigned int i = from; i < from + n; i++) {
        std::string key = "model@rank/" + std::to_string(i);

        memory.push_back(Bytes(SeedOf(key), kBytes));
        // As a scattered object: two slices.
        batch[key] = {{memory.back().data(), 4097},
                      {memory.back().data() + 4097, kBytes - 4097}};
    }
    // Some may find no room at this moment; the rest is told.
    uint64_t until = vt_ms() + 30000;
    while (!batch.empty() && vt_ms() < until) {
        uint64_t before = m.announced;
        auto done = b.BatchOffload(batch, m.Complete(), m.Evict());

        if (!done && done.error() != ErrorCode::INVALID_READ)
            return vt_expect(false, "BatchOffload: %d", (int)done.error());
        if (done)
            vt_expect(*done == (int64_t)(m.announced - before),
                      "BatchOffload says %lld", (long long)*done);
        for (auto it = batch.begin(); it != batch.end();)
            it = m.listed.count(it->first) ? batch.erase(it) : std::next(it);
        if (!batch.empty()) vt_sleep_ms(20);
    }
    return vt_expect(batch.empty(), "%zu objects were not put", batch.size());
}

// Every object that is listed is there, with its bytes, or is told to have gone;
// and no other is there.
void Judge(StorageBackendInterface &b, Master &m, unsigned int all,
           const char *when) {
    unsigned int wrong = 0, unlisted = 0;
    std::vector<std::string> absent;

    auto told = b.EvictAboveDiskWatermark(0.9, 0.8, m.Evict());
    vt_expect(bool(told), "%s: EvictAboveDiskWatermark", when);
    for (auto &[key, size] : m.listed) {
        std::vector<char> memory(kBytes);
        std::unordered_map<std::string, Slice> one{{key, {memory.data(), kBytes}}};
        auto loaded = b.BatchLoad(one);

        vt_expect(size == (int64_t)kBytes, "%s: size of %s", when, key.c_str());
        if (!loaded)
            absent.push_back(key);
        else if (!Same(memory, SeedOf(key), kBytes))
            wrong++;
    }
    vt_expect(!wrong, "%s: %u of %zu objects that are listed are wrong", when,
              wrong, m.listed.size());
    // Eviction goes on by itself; it is told a moment after they are gone.
    for (uint64_t until = vt_ms() + 10000; !absent.empty() && vt_ms() < until;) {
        vt_expect(bool(b.EvictAboveDiskWatermark(0.9, 0.8, m.Evict())), "evict");
        std::erase_if(absent, [&](auto &key) { return !m.listed.count(key); });
        if (!absent.empty()) vt_sleep_ms(50);
    }
    vt_expect(absent.empty(), "%s: %zu of %zu objects that are listed can't be loaded",
              when, absent.size(), m.listed.size());
    for (unsigned int i = 0; i < all; i++) {
        std::string key = "model@rank/" + std::to_string(i);
        auto there = b.IsExist(key);

        if (there && *there && !m.listed.count(key)) unlisted++;
    }
    vt_expect(!unlisted, "%s: %u objects are there and not listed", when,
              unlisted);
}

unsigned int Capacity() {
    struct kvcm_usage usage = {};
    kvcm *store = nullptr;

    vt_need(!kvcm_open(&options, &store) && !kvcm_usage(store, &usage), "usage");
    kvcm_close(store);
    return (unsigned int)(usage.capacity / kBytes);
}

// Evictions that go on after the last put are told, too.
void Settle(StorageBackendInterface &b, Master &m) {
    uint64_t was;

    do {
        was = m.evicted;
        vt_sleep_ms(400);
        vt_expect(bool(b.EvictAboveDiskWatermark(0.9, 0.8, m.Evict())), "evict");
    } while (m.evicted != was);
}

void TestBackend() {
    FileStorageConfig config;
    Master m;
    unsigned int capacity = Capacity(), n = 0;

    vt_begin("batches: offload, load, exist; what is not there; sizes");
    {
        KvCacheStorageBackend backend(config, options);
        StorageBackendInterface &b = backend;
        std::vector<char> memory(kBytes);

        vt_need(bool(b.Init()), "Init");
        vt_expect(b.IsEnableOffloading() && *b.IsEnableOffloading(), "enabled");
        Offload(b, m, 0, 40);
        n = 40;
        Judge(b, m, n, "at first");
        std::unordered_map<std::string, Slice> two{
            {"model@rank/3", {memory.data(), kBytes}},
            {"absent", {memory.data(), kBytes}}};
        vt_expect(Is(b.BatchLoad(two), ErrorCode::OBJECT_NOT_FOUND), "one absent");
        std::unordered_map<std::string, Slice> small{
            {"model@rank/3", {memory.data(), kBytes - 1}}};
        vt_expect(Is(b.BatchLoad(small), ErrorCode::BUFFER_OVERFLOW), "too small");
        memory.resize(kBytes + 1);
        std::unordered_map<std::string, Slice> large{
            {"model@rank/3", {memory.data(), kBytes + 1}}};
        vt_expect(Is(b.BatchLoad(large), ErrorCode::FILE_READ_FAIL), "too large");
        vt_end();

        vt_begin("a pool that is filled twice over: what goes is told, and what is listed can be loaded");
        while (n < 2 * capacity) {
            if (!Offload(b, m, n, 50)) break;
            n += 50;
        }
        Settle(b, m);
        vt_expect(m.evicted > 0, "nothing was evicted");
        Judge(b, m, n, "when full");
        vt_end();

        vt_begin("an eviction handler that fails is asked again");
        m.fail_next = true;
        const unsigned int first = n;
        // Eviction goes by segments, and has some in reserve.
        for (unsigned int i = 0; i < 2 * capacity && m.fail_next; i++) {
            std::unordered_map<std::string, std::vector<Slice>> batch;
            std::vector<char> data = Bytes(SeedOf("model@rank/" + std::to_string(n)),
                                           kBytes);

            batch["model@rank/" + std::to_string(n++)] = {{data.data(), kBytes}};
            for (unsigned int k = 0; k < 20 && m.fail_next; k++) {
                (void)b.BatchOffload(batch, m.Complete(), m.Evict());
                vt_sleep_ms(5);
            }
        }
        vt_expect(!m.fail_next, "it was not asked");
        // What was put in the call that failed was not announced: put it again.
        for (unsigned int i = first; i < n; i++)
            if (!m.listed.count("model@rank/" + std::to_string(i))) {
                auto there = b.IsExist("model@rank/" + std::to_string(i));

                if (there && *there) Offload(b, m, i, 1);
            }
        Settle(b, m);
        Judge(b, m, n, "after the failure");
        vt_end();
    }

    vt_begin("after a restart a scan tells all that is there");
    {
        KvCacheStorageBackend backend(config, options);
        StorageBackendInterface &b = backend;
        Master again;

        vt_need(bool(b.Init()), "Init");
        vt_expect(bool(b.ScanMeta(again.Complete())), "ScanMeta");
        vt_expect(again.listed == m.listed, "%zu objects are told, not %zu",
                  again.listed.size(), m.listed.size());
        Judge(b, again, n, "after the scan");
        // And what goes now is told to this one.
        while (again.evicted < 10) {
            if (!Offload(b, again, n, 50)) break;
            n += 50;
        }
        Settle(b, again);
        Judge(b, again, n, "after more puts");
        vt_expect(Is(b.ScanMeta([](const std::vector<std::string> &,
                                   std::vector<StorageObjectMetadata> &) {
                      return ErrorCode::INTERNAL_ERROR;
                  }), ErrorCode::INTERNAL_ERROR), "a handler that fails");
        b.RemoveAll();
        Master none;
        vt_expect(bool(b.ScanMeta(none.Complete())) && none.listed.empty(),
                  "%zu objects are there after RemoveAll", none.listed.size());
    }
    vt_end();
}

// Loads come from many threads while one offloads.
void TestThreads() {
    FileStorageConfig config;
    KvCacheStorageBackend backend(config, options);
    std::vector<std::thread> threads;
    Master m;

    vt_begin("loads from many threads while objects are offloaded");
    vt_need(bool(backend.Init()), "Init");
    Offload(backend, m, 0, 30);
    for (unsigned int t = 0; t < 6; t++)
        threads.emplace_back([&backend, t] {
            for (unsigned int i = 0; i < 60; i++) {
                std::string key = "model@rank/" + std::to_string((i + t * 7) % 30);
                std::vector<char> memory(kBytes);
                std::unordered_map<std::string, Slice> one{
                    {key, {memory.data(), kBytes}}};
                auto got = Again([&] { return backend.BatchLoad(one); });

                vt_expect(got && Same(memory, SeedOf(key), kBytes), "load %s: %d",
                          key.c_str(), got ? 0 : (int)got.error());
            }
        });
    Offload(backend, m, 30, 60);
    for (std::thread &t : threads) t.join();
    backend.RemoveAll();
    vt_end();
}

}  // namespace

int main(int argc, char **argv) {
    options.pool = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    TestObjects();
    TestBackend();
    TestThreads();

    options.pool = 77;
    vt_begin("a pool that is not attached");
    KvCacheStorageBackend none(FileStorageConfig{}, options);
    vt_expect(Is(none.Init(), ErrorCode::SEGMENT_NOT_FOUND), "Init");
    vt_end();
    vt_exit();
}
