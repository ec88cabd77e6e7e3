build/userspace/obj/agent/worker.o: /tmp/s8/userspace/agent/worker.c \
 /tmp/s8/userspace/agent/worker.h /tmp/s8/userspace/agent/kernel.h \
 /tmp/s8/uapi/linux/kvcache.h /tmp/s8/userspace/agent/config.h
/tmp/s8/userspace/agent/worker.h:
/tmp/s8/userspace/agent/kernel.h:
/tmp/s8/uapi/linux/kvcache.h:
/tmp/s8/userspace/agent/config.h:
