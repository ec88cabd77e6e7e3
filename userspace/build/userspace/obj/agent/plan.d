build/userspace/obj/agent/plan.o: /tmp/s8/userspace/agent/plan.c \
 /tmp/s8/uapi/linux/kvcache.h /tmp/s8/userspace/agent/plan.h
/tmp/s8/uapi/linux/kvcache.h:
/tmp/s8/userspace/agent/plan.h:
