build/userspace/obj/agent/config.o: /tmp/s8/userspace/agent/config.c \
 /tmp/s8/uapi/linux/kvcache.h /tmp/s8/userspace/agent/config.h
/tmp/s8/uapi/linux/kvcache.h:
/tmp/s8/userspace/agent/config.h:
