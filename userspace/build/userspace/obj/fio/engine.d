build/userspace/fio-kvcache.so: /tmp/s8/userspace/fio/engine.c \
 /root/.cache/kvcache/src/fio-3.33-3/config-host.h \
 /tmp/s8/userspace/lib/kvcache.h /tmp/s8/uapi/linux/kvcache.h
/root/.cache/kvcache/src/fio-3.33-3/config-host.h:
/tmp/s8/userspace/lib/kvcache.h:
/tmp/s8/uapi/linux/kvcache.h:
