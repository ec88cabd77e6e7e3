build/userspace/obj/ctl/cmd_connect.o: \
 /tmp/s8/userspace/ctl/cmd_connect.c /tmp/s8/userspace/ctl/ctl.h \
 /tmp/s8/kmod/kvc_codec.h /tmp/s8/kmod/kvc_hash.h \
 /tmp/s8/kmod/kvc_types.h /tmp/s8/userspace/compat/kvc_user.h \
 /tmp/s8/kmod/kvc_layout.h /tmp/s8/kmod/kvc_format.h \
 /tmp/s8/userspace/ctl/fabric.h /tmp/s8/userspace/ctl/nvme_path.h
/tmp/s8/userspace/ctl/ctl.h:
/tmp/s8/kmod/kvc_codec.h:
/tmp/s8/kmod/kvc_hash.h:
/tmp/s8/kmod/kvc_types.h:
/tmp/s8/userspace/compat/kvc_user.h:
/tmp/s8/kmod/kvc_layout.h:
/tmp/s8/kmod/kvc_format.h:
/tmp/s8/userspace/ctl/fabric.h:
/tmp/s8/userspace/ctl/nvme_path.h:
