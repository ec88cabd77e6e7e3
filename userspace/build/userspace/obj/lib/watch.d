build/userspace/obj/lib/watch.o: /tmp/s8/userspace/lib/watch.c \
 /tmp/s8/userspace/lib/internal.h /tmp/s8/userspace/lib/kvcache.h \
 /tmp/s8/uapi/linux/kvcache.h
/tmp/s8/userspace/lib/internal.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
