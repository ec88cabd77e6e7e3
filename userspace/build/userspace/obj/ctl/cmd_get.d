build/userspace/obj/ctl/cmd_get.o: /tmp/s8/userspace/ctl/cmd_get.c \
 /tmp/s8/userspace/ctl/call.h /tmp/s8/userspace/ctl/ctl.h \
 /tmp/s8/kmod/kvc_codec.h /tmp/s8/kmod/kvc_hash.h \
 /tmp/s8/kmod/kvc_types.h /tmp/s8/userspace/compat/kvc_user.h \
 /tmp/s8/kmod/kvc_layout.h /tmp/s8/kmod/kvc_format.h \
 /tmp/s8/userspace/lib/kvcache.h /tmp/s8/uapi/linux/kvcache.h
/tmp/s8/userspace/ctl/call.h:
/tmp/s8/userspace/ctl/ctl.h:
/tmp/s8/kmod/kvc_codec.h:
/tmp/s8/kmod/kvc_hash.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
/tmp/s8/kmod/kvc_layout.h:
/tmp/s8/kmod/kvc_format.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
