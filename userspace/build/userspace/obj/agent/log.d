build/userspace/obj/agent/log.o: /tmp/s8/userspace/agent/log.c \
 /tmp/s8/userspace/agent/log.h
/tmp/s8/userspace/agent/log.h:
