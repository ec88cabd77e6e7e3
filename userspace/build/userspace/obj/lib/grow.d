build/userspace/obj/lib/grow.o: /tmp/s8/userspace/lib/grow.c \
 /tmp/s8/userspace/lib/internal.h /tmp/s8/userspace/lib/kvcache.h \
 /tmp/s8/uapi/linux/kvcache.h
/tmp/s8/userspace/lib/internal.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
