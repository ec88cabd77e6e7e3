build/userspace/obj/mooncake/kvcache_mooncake.pic.o: \
 /tmp/s8/userspace/mooncake/kvcache_mooncake.c \
 /tmp/s8/userspace/lib/kvcache.h /tmp/s8/uapi/linux/kvcache.h \
 /tmp/s8/userspace/mooncake/kvcache_mooncake.h
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
/tmp/s8/userspace/mooncake/kvcache_mooncake.h:
