build/userspace/obj/ctl/dev.o: /tmp/s8/userspace/ctl/dev.c \
 /tmp/s8/userspace/ctl/ctl.h /tmp/s8/kmod/kvc_codec.h \
 /tmp/s8/kmod/kvc_hash.h /tmp/s8/kmod/kvc_types.h \
 /tmp/s8/userspace/compat/kvc_user.h /tmp/s8/kmod/kvc_layout.h \
 /tmp/s8/kmod/kvc_format.h
/tmp/s8/userspace/ctl/ctl.h:
/tmp/s8/kmod/kvc_codec.h:
/tmp/s8/kmod/kvc_hash.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
/tmp/s8/kmod/kvc_layout.h:
/tmp/s8/kmod/kvc_format.h:
