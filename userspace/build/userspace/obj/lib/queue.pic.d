build/userspace/obj/lib/queue.pic.o: /tmp/s8/userspace/lib/queue.c \
 /tmp/s8/userspace/lib/internal.h /tmp/s8/userspace/lib/kvcache.h \
 /tmp/s8/uapi/linux/kvcache.h
/tmp/s8/userspace/lib/internal.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
