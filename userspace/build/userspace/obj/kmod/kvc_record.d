build/userspace/obj/kmod/kvc_record.o: /tmp/s8/kmod/kvc_record.c \
 /tmp/s8/kmod/kvc_codec.h /tmp/s8/kmod/kvc_hash.h \
 /tmp/s8/kmod/kvc_types.h /tmp/s8/userspace/compat/kvc_user.h \
 /tmp/s8/kmod/kvc_layout.h /tmp/s8/kmod/kvc_format.h
/tmp/s8/kmod/kvc_codec.h:
/tmp/s8/kmod/kvc_hash.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
/tmp/s8/kmod/kvc_layout.h:
/tmp/s8/kmod/kvc_format.h:
