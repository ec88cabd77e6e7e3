build/userspace/obj/compat/kvc_user.o: \
 /tmp/s8/userspace/compat/kvc_user.c /tmp/s8/userspace/compat/kvc_user.h
/tmp/s8/userspace/compat/kvc_user.h:
