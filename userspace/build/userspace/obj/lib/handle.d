build/userspace/obj/lib/handle.o: /tmp/s8/userspace/lib/handle.c \
 /tmp/s8/userspace/lib/internal.h /tmp/s8/userspace/lib/kvcache.h \
 /tmp/s8/uapi/linux/kvcache.h
/tmp/s8/userspace/lib/internal.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
