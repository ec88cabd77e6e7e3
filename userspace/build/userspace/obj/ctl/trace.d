build/userspace/obj/ctl/trace.o: /tmp/s8/userspace/ctl/trace.c \
 /tmp/s8/userspace/ctl/prng.h /tmp/s8/kmod/kvc_types.h \
 /tmp/s8/userspace/compat/kvc_user.h /tmp/s8/userspace/ctl/trace.h
/tmp/s8/userspace/ctl/prng.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
/tmp/s8/userspace/ctl/trace.h:
