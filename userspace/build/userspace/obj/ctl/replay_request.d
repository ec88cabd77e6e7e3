build/userspace/obj/ctl/replay_request.o: \
 /tmp/s8/userspace/ctl/replay_request.c /tmp/s8/userspace/ctl/prng.h \
 /tmp/s8/kmod/kvc_types.h /tmp/s8/userspace/compat/kvc_user.h \
 /tmp/s8/userspace/ctl/replay.h /tmp/s8/userspace/ctl/call.h \
 /tmp/s8/userspace/ctl/ctl.h /tmp/s8/kmod/kvc_codec.h \
 /tmp/s8/kmod/kvc_hash.h /tmp/s8/kmod/kvc_types.h \
 /tmp/s8/kmod/kvc_layout.h /tmp/s8/kmod/kvc_format.h \
 /tmp/s8/userspace/lib/kvcache.h /tmp/s8/uapi/linux/kvcache.h \
 /tmp/s8/userspace/ctl/latency.h
/tmp/s8/userspace/ctl/prng.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
/tmp/s8/userspace/ctl/replay.h:
/tmp/s8/userspace/ctl/call.h:
/tmp/s8/userspace/ctl/ctl.h:
/tmp/s8/kmod/kvc_codec.h:
/tmp/s8/kmod/kvc_hash.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/kmod/kvc_layout.h:
/tmp/s8/kmod/kvc_format.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
/tmp/s8/userspace/ctl/latency.h:
