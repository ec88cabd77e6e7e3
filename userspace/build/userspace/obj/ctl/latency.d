build/userspace/obj/ctl/latency.o: /tmp/s8/userspace/ctl/latency.c \
 /tmp/s8/userspace/ctl/latency.h /tmp/s8/kmod/kvc_types.h \
 /tmp/s8/userspace/compat/kvc_user.h
/tmp/s8/userspace/ctl/latency.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
