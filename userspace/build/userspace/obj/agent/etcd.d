build/userspace/obj/agent/etcd.o: /tmp/s8/userspace/agent/etcd.c \
 /tmp/s8/userspace/agent/etcd.h /tmp/s8/userspace/agent/config.h \
 /tmp/s8/userspace/agent/log.h
/tmp/s8/userspace/agent/etcd.h:
/tmp/s8/userspace/agent/config.h:
/tmp/s8/userspace/agent/log.h:
