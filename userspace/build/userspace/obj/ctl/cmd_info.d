build/userspace/obj/ctl/cmd_info.o: /tmp/s8/userspace/ctl/cmd_info.c \
 /tmp/s8/userspace/ctl/call.h /tmp/s8/userspace/ctl/ctl.h \
 /tmp/s8/kmod/kvc_codec.h /tmp/s8/kmod/kvc_hash.h \
 /tmp/s8/kmod/kvc_types.h /tmp/s8/userspace/compat/kvc_user.h \
 /tmp/s8/kmod/kvc_layout.h /tmp/s8/kmod/kvc_format.h \
 /tmp/s8/userspace/lib/kvcache.h /tmp/s8/uapi/linux/kvcache.h \
 /tmp/s8/userspace/ctl/counters.h /tmp/s8/userspace/ctl/geometry.h
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
/tmp/s8/userspace/ctl/counters.h:
/tmp/s8/userspace/ctl/geometry.h:
