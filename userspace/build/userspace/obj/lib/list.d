build/userspace/obj/lib/list.o: /tmp/s8/userspace/lib/list.c \
 /tmp/s8/userspace/lib/internal.h /tmp/s8/userspace/lib/kvcache.h \
 /tmp/s8/uapi/linux/kvcache.h
/tmp/s8/userspace/lib/internal.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
