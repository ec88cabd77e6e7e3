build/userspace/obj/ctl/fabric.o: /tmp/s8/userspace/ctl/fabric.c \
 /tmp/s8/userspace/ctl/fabric.h
/tmp/s8/userspace/ctl/fabric.h:
