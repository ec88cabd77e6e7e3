build/userspace/obj/ctl/poolread_data.o: \
 /tmp/s8/userspace/ctl/poolread_data.c /tmp/s8/userspace/ctl/poolread.h \
 /tmp/s8/kmod/kvc_codec.h /tmp/s8/kmod/kvc_hash.h \
 /tmp/s8/kmod/kvc_types.h /tmp/s8/userspace/compat/kvc_user.h \
 /tmp/s8/kmod/kvc_layout.h /tmp/s8/kmod/kvc_format.h
/tmp/s8/userspace/ctl/poolread.h:
/tmp/s8/kmod/kvc_codec.h:
/tmp/s8/kmod/kvc_hash.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
/tmp/s8/kmod/kvc_layout.h:
/tmp/s8/kmod/kvc_format.h:
