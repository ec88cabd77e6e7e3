build/userspace/obj/agent/main.o: /tmp/s8/userspace/agent/main.c \
 /tmp/s8/userspace/agent/agent.h /tmp/s8/userspace/agent/cluster.h \
 /tmp/s8/uapi/linux/kvcache.h /tmp/s8/userspace/agent/etcd.h \
 /tmp/s8/userspace/agent/config.h /tmp/s8/userspace/agent/plan.h \
 /tmp/s8/userspace/agent/kernel.h /tmp/s8/userspace/agent/worker.h \
 /tmp/s8/userspace/agent/log.h
/tmp/s8/userspace/agent/agent.h:
/tmp/s8/userspace/agent/cluster.h:
/tmp/s8/uapi/linux/kvcache.h:
/tmp/s8/userspace/agent/etcd.h:
/tmp/s8/userspace/agent/config.h:
/tmp/s8/userspace/agent/plan.h:
/tmp/s8/userspace/agent/kernel.h:
/tmp/s8/userspace/agent/worker.h:
/tmp/s8/userspace/agent/log.h:
